#!/bin/sh
# Test a backup of a server, or restore the server from it:
#   ./restore.sh try writers|validators BACKUP   restores into a temporary database only
#   ./restore.sh now writers|validators BACKUP   replaces the server's database and data folder
set -eu
case ${1-}/${2-}/${3-} in
try/writers/?* | try/validators/?* | now/writers/?* | now/validators/?*) ;;
*)
	sed -n '2,4s/^# *//p' "$0" >&2
	exit 2
	;;
esac
mode=$1 role=$2 backup=$(cd "$3" && pwd)
cd "$(dirname "$0")"
(cd "$backup" && sha256sum --quiet --check SHA256SUMS)

in_database() { docker compose exec -T "$role-db" "$@"; }

fill() { # restores the dump into a new database of this name
	in_database createdb --username=labelstudio "$1"
	in_database pg_restore --username=labelstudio --no-owner --exit-on-error --dbname="$1" \
		<"$backup/$role.dump"
}

count() {
	in_database psql --username=labelstudio --dbname="$1" --no-align --tuples-only --command="
		SELECT (SELECT count(*) FROM project) || ' projects, '
			|| (SELECT count(*) FROM task) || ' tasks, '
			|| (SELECT count(*) FROM task_completion) || ' annotations, '
			|| (SELECT count(*) FROM htx_user) || ' accounts'"
}

if [ "$mode" = try ]; then
	in_database dropdb --username=labelstudio --if-exists trial
	fill trial
	echo "in the backup: $(count trial)"
	in_database dropdb --username=labelstudio trial
	echo "on the server: $(count labelstudio)"
	exit
fi

docker compose stop "$role"
in_database dropdb --username=labelstudio --if-exists --force labelstudio
fill labelstudio
# The campaign's archive can contain answers that were sent after the backup. This database does not
# know their numbers and would use them again, so that two answers would look like one. New answers
# therefore get much higher numbers.
in_database psql --username=labelstudio --dbname=labelstudio --quiet --tuples-only --command="
	SELECT 'new annotations get numbers above '
		|| setval(pg_get_serial_sequence('task_completion', 'id'), GREATEST(
			(SELECT max(id) FROM task_completion), extract(epoch FROM now())::int - 1700000000))"
docker compose run --rm -T --no-deps --user 0 --entrypoint tar "$role" \
	-C /label-studio/data -xpf - <"$backup/$role.tar"
docker compose start "$role"
echo "restored: $(count labelstudio)"
