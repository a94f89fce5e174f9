-- The tables of the web platform's database; store.py and counts.py have all statements that use them.
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
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, pseudonym TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL, since REAL NOT NULL
) STRICT;
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
    counts INTEGER NOT NULL, payload BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS answers_of ON answers (person, round, task);
CREATE INDEX IF NOT EXISTS answers_to ON answers (round, task);
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
CREATE TRIGGER IF NOT EXISTS came AFTER INSERT ON answers WHEN NEW.counts BEGIN
    UPDATE tasks SET answered = answered + 1 WHERE round = NEW.round AND id = NEW.task;
END;
CREATE TRIGGER IF NOT EXISTS went AFTER DELETE ON answers WHEN OLD.counts BEGIN
    UPDATE tasks SET answered = answered - 1 WHERE round = OLD.round AND id = OLD.task;
END;
