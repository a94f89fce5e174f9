#!/bin/sh
# Back up the database of our own pages, also while people work: ./backup-web.sh CAMPAIGN [FOLDER]
# Writes FOLDER/web-DATE.sqlite (default: backups/) and checks it. Backups older than KEEP_DAYS (30)
# are deleted.
set -eu
umask 077
database=$(cd "$1/2-rounds" && pwd)/web.sqlite
test -f "$database" || { echo "$database: not there" >&2; exit 1; }
home=${2:-$(dirname "$0")/backups}
mkdir -p "$home"
cd "$home"
made=web-$(date -u +%Y-%m-%dT%H%M%SZ).sqlite
trap 'rm -f ".$made" ".$made-wal" ".$made-shm"' EXIT
sqlite3 -readonly "$database" ".timeout 30000" ".backup '.$made'"
test "$(sqlite3 ".$made" "PRAGMA journal_mode = DELETE; PRAGMA integrity_check")" = "delete
ok"
mv ".$made" "$made" # only now, so an incomplete backup never has a backup's name
find . -maxdepth 1 -type f -name 'web-20??-*.sqlite' -mtime "+${KEEP_DAYS:-30}" -delete
echo "$PWD/$made"
