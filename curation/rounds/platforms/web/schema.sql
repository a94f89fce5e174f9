-- The tables of the web platform's database; database.py, rounds.py, store.py, checks.py and
-- arrivals.py have all statements that use them.
-- With a row of ``people``, all that is the person's goes, and nothing of theirs can be added.

CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS rounds (
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, token TEXT NOT NULL UNIQUE,
    is_open INTEGER NOT NULL, plan BLOB NOT NULL, version INTEGER NOT NULL DEFAULT 1,
    pulled INTEGER NOT NULL DEFAULT 0, pulled_at TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE TABLE IF NOT EXISTS tasks (
    round TEXT NOT NULL, id TEXT NOT NULL, place INTEGER NOT NULL, term TEXT NOT NULL,
    barred TEXT, data BLOB NOT NULL, asked INTEGER NOT NULL,
    answered INTEGER NOT NULL DEFAULT 0, live INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (round, id)
) STRICT;
CREATE INDEX IF NOT EXISTS free_tasks ON tasks (round, answered + live, place, id, barred)
    WHERE answered + live < asked;
CREATE INDEX IF NOT EXISTS tasks_on ON tasks (term);
CREATE TABLE IF NOT EXISTS people (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
    pseudonym TEXT NOT NULL,  -- those who claim one id at Prolific share it
    name TEXT NOT NULL, since REAL NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS people_called ON people (pseudonym);
CREATE TABLE IF NOT EXISTS admitted (
    person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE, round TEXT NOT NULL,
    PRIMARY KEY (person, round)
) STRICT;
CREATE TABLE IF NOT EXISTS consents (
    person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE, round TEXT NOT NULL,
    version TEXT NOT NULL,
    PRIMARY KEY (person, round, version)
) STRICT;
CREATE TABLE IF NOT EXISTS sessions (
    key TEXT PRIMARY KEY, person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE
) STRICT;
CREATE TABLE IF NOT EXISTS owners (key TEXT PRIMARY KEY, at REAL NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS joined (
    key TEXT PRIMARY KEY, person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    at REAL NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS trained (
    person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE, round TEXT NOT NULL,
    share REAL NOT NULL, passed INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS checks (
    person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE, round TEXT NOT NULL,
    number INTEGER NOT NULL, passed INTEGER NOT NULL, PRIMARY KEY (person, round, number)
) STRICT;
CREATE TABLE IF NOT EXISTS pauses (
    person TEXT PRIMARY KEY REFERENCES people (id) ON DELETE CASCADE, until REAL NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS leases (
    person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE, round TEXT NOT NULL,
    task TEXT NOT NULL, until REAL NOT NULL, PRIMARY KEY (person, round, task)
) STRICT;
CREATE INDEX IF NOT EXISTS live_leases ON leases (until) WHERE until > 0;
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, form TEXT NOT NULL,
    person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE, round TEXT NOT NULL,
    task TEXT NOT NULL, at REAL NOT NULL,
    counts INTEGER NOT NULL,  -- 1; 0 if it never did; -1 if its place was given back
    arrival INTEGER,  -- under which it was sent, if its person came from Prolific
    payload BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS answers_of ON answers (person, round, task);
CREATE INDEX IF NOT EXISTS answers_to ON answers (round, task);
CREATE INDEX IF NOT EXISTS answers_under ON answers (arrival);
-- A submission at Prolific, as the address said with which somebody came. An id may be claimed by
-- several participants; all but one of them are then forged. ``sent`` is ``changes`` as it was when
-- the answers were last pulled, or -1.
CREATE TABLE IF NOT EXISTS arrivals (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL, round TEXT NOT NULL,
    participant TEXT NOT NULL, study TEXT NOT NULL,
    person TEXT REFERENCES people (id) ON DELETE CASCADE, arrived REAL NOT NULL,
    standing TEXT NOT NULL, status TEXT NOT NULL,
    outcome TEXT NOT NULL DEFAULT '', ended REAL NOT NULL DEFAULT 0,
    changes INTEGER NOT NULL DEFAULT 0, sent INTEGER NOT NULL DEFAULT -1,
    UNIQUE (id, participant)
) STRICT;
CREATE INDEX IF NOT EXISTS arrivals_of ON arrivals (person, round);
-- Who came to a round with submissions that are all gone.
CREATE VIEW IF NOT EXISTS gone AS
    SELECT person, round FROM arrivals WHERE person IS NOT NULL
    GROUP BY person, round HAVING min(standing IN ('returned', 'forged'));
-- What a submission is worth changes in any order. The places of what was sent under it are given
-- back, or taken again; who has no other submission in the round does not keep a task.
CREATE TRIGGER IF NOT EXISTS valued AFTER UPDATE OF standing ON arrivals
WHEN OLD.standing != NEW.standing AND (OLD.standing, NEW.standing) != ('unchecked', 'checked') BEGIN
    UPDATE arrivals SET changes = changes + 1 WHERE number = NEW.number;
    UPDATE leases SET until = 0 WHERE until > 0 AND (person, round) IN
        (SELECT person, round FROM gone WHERE person = NEW.person);
    UPDATE answers SET counts = -counts WHERE arrival = NEW.number AND counts != 0
        AND (counts < 0) != (NEW.standing IN ('returned', 'forged'));
END;
-- The two counts of a task are those of the rows, whatever changes these.
CREATE TRIGGER IF NOT EXISTS given AFTER INSERT ON leases WHEN NEW.until > 0 BEGIN
    UPDATE tasks SET live = live + 1 WHERE round = NEW.round AND id = NEW.task;
END;
CREATE TRIGGER IF NOT EXISTS moved AFTER UPDATE OF until ON leases BEGIN
    UPDATE tasks SET live = live + (NEW.until > 0) - (OLD.until > 0)
    WHERE round = NEW.round AND id = NEW.task;
END;
CREATE TRIGGER IF NOT EXISTS taken AFTER DELETE ON leases WHEN OLD.until > 0 BEGIN
    UPDATE tasks SET live = live - 1 WHERE round = OLD.round AND id = OLD.task;
END;
CREATE TRIGGER IF NOT EXISTS came AFTER INSERT ON answers WHEN NEW.counts > 0 BEGIN
    UPDATE tasks SET answered = answered + 1 WHERE round = NEW.round AND id = NEW.task;
END;
CREATE TRIGGER IF NOT EXISTS judged AFTER UPDATE OF counts ON answers BEGIN
    UPDATE tasks SET answered = answered + (NEW.counts > 0) - (OLD.counts > 0)
    WHERE round = NEW.round AND id = NEW.task;
END;
CREATE TRIGGER IF NOT EXISTS went AFTER DELETE ON answers WHEN OLD.counts > 0 BEGIN
    UPDATE tasks SET answered = answered - 1 WHERE round = OLD.round AND id = OLD.task;
END;
