-- The tables of the web platform's database; store.py has all statements that use them.
-- With a row of ``people``, all that is the person's goes, and nothing of theirs can be added.

CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE rounds (
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, token TEXT NOT NULL UNIQUE,
    is_open INTEGER NOT NULL, plan BLOB NOT NULL, version INTEGER NOT NULL DEFAULT 1,
    pulled INTEGER NOT NULL DEFAULT 0, pulled_at TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE TABLE tasks (
    round TEXT NOT NULL, id TEXT NOT NULL, place INTEGER NOT NULL, term TEXT NOT NULL,
    barred TEXT, data BLOB NOT NULL, asked INTEGER NOT NULL,
    answered INTEGER NOT NULL DEFAULT 0, live INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (round, id)
) STRICT;
CREATE INDEX free_tasks ON tasks (round, answered + live, place)
    WHERE answered + live < asked;
CREATE INDEX tasks_on ON tasks (term);
CREATE TABLE people (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, pseudonym TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL, since REAL NOT NULL
) STRICT;
CREATE TABLE admitted (
    person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE, round TEXT NOT NULL,
    PRIMARY KEY (person, round)
) STRICT;
CREATE TABLE consents (
    person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE, round TEXT NOT NULL,
    version TEXT NOT NULL,
    PRIMARY KEY (person, round, version)
) STRICT;
CREATE TABLE sessions (
    key TEXT PRIMARY KEY, person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE
) STRICT;
CREATE TABLE trained (
    person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE, round TEXT NOT NULL,
    share REAL NOT NULL, passed INTEGER NOT NULL
) STRICT;
CREATE TABLE pauses (
    person TEXT PRIMARY KEY REFERENCES people (id) ON DELETE CASCADE, until REAL NOT NULL
) STRICT;
CREATE TABLE leases (
    person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE, round TEXT NOT NULL,
    task TEXT NOT NULL, until REAL NOT NULL, PRIMARY KEY (person, round, task)
) STRICT;
CREATE INDEX live_leases ON leases (until) WHERE until > 0;
CREATE TABLE answers (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, form TEXT NOT NULL,
    person TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE, round TEXT NOT NULL,
    task TEXT NOT NULL, at REAL NOT NULL,
    counts INTEGER NOT NULL, payload BLOB NOT NULL
) STRICT;
CREATE INDEX answers_of ON answers (person, round, task);
CREATE INDEX answers_to ON answers (round, task);
-- The two counts of a task are those of the rows, whatever changes these.
CREATE TRIGGER given AFTER INSERT ON leases WHEN NEW.until > 0 BEGIN
    UPDATE tasks SET live = live + 1 WHERE round = NEW.round AND id = NEW.task;
END;
CREATE TRIGGER moved AFTER UPDATE OF until ON leases BEGIN
    UPDATE tasks SET live = live + (NEW.until > 0) - (OLD.until > 0)
    WHERE round = NEW.round AND id = NEW.task;
END;
CREATE TRIGGER taken AFTER DELETE ON leases WHEN OLD.until > 0 BEGIN
    UPDATE tasks SET live = live - 1 WHERE round = OLD.round AND id = OLD.task;
END;
CREATE TRIGGER came AFTER INSERT ON answers WHEN NEW.counts BEGIN
    UPDATE tasks SET answered = answered + 1 WHERE round = NEW.round AND id = NEW.task;
END;
CREATE TRIGGER went AFTER DELETE ON answers WHEN OLD.counts BEGIN
    UPDATE tasks SET answered = answered - 1 WHERE round = OLD.round AND id = OLD.task;
END;
