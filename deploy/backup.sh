#!/bin/sh
# Back up both servers: ./backup.sh [FOLDER]
# Writes databases and data folders to FOLDER/DATE (default: backups/DATE), checks the databases and
# writes checksums. Backups older than KEEP_DAYS (30) are deleted.
set -eu
umask 077
home=${1:-$(dirname "$0")/backups}
mkdir -p "$home"
home=$(cd "$home" && pwd)
cd "$(dirname "$0")"
today=$(date -u +%Y-%m-%dT%H%M%SZ)
made=$home/.$today # renamed at the end, so an incomplete backup never has a backup's name
mkdir "$made"
trap 'rm -rf "$made"' EXIT
for role in writers validators; do
	docker compose exec -T "$role-db" \
		pg_dump --username=labelstudio --format=custom labelstudio >"$made/$role.dump"
	docker compose exec -T "$role-db" pg_restore --list <"$made/$role.dump" >/dev/null
	docker compose exec -T "$role" tar -C /label-studio/data -cf - . >"$made/$role.tar"
done
(cd "$made" && sha256sum ./*.dump ./*.tar >SHA256SUMS)
mv "$made" "$home/$today"
find "$home" -mindepth 1 -maxdepth 1 -type d -name '20??-*' -mtime "+${KEEP_DAYS:-30}" \
	-exec rm -r {} +
echo "$home/$today"
