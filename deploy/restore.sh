#!/bin/sh
# Bring a server back from a backup, or try out whether it could be:
#   ./restore.sh try writers|validators BACKUP     restores beside, counts, leaves all as it was
#   ./restore.sh now writers|validators BACKUP     replaces what is there
set -eu
case ${1-}/${2-}/${3-} in
try/writers/?* | try/validators/?* | now/writers/?* | now/validators/?*) ;;
*)
	sed -n '2,4s/^# *//p' "$0" >&2
	exit 2
	;;
esac
what=$1 role=$2 backup=$(cd "$3" && pwd)
cd "$(dirname "$0")"
(cd "$backup" && sha256sum --quiet --check SHA256SUMS)

in_database() { docker compose exec -T "$role-db" "$@"; }

fill() { # the dump into an empty database of this name
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

if [ "$what" = try ]; then
	in_database dropdb --username=labelstudio --if-exists trial
	fill trial
	echo "in the backup: $(count trial)"
	in_database dropdb --username=labelstudio trial
	echo "there now:     $(count labelstudio)"
	exit
fi

docker compose stop "$role"
in_database dropdb --username=labelstudio --if-exists --force labelstudio
fill labelstudio
# Answers given since the backup are in the campaign's archive under numbers that this database
# knows nothing of. New ones get others, or two answers would pass for one.
in_database psql --username=labelstudio --dbname=labelstudio --quiet --tuples-only --command="
	SELECT 'annotations begin at '
		|| setval(pg_get_serial_sequence('task_completion', 'id'), GREATEST(
			(SELECT max(id) FROM task_completion), extract(epoch FROM now())::int - 1700000000))"
docker compose run --rm -T --no-deps --user 0 --entrypoint tar "$role" \
	-C /label-studio/data -xpf - <"$backup/$role.tar"
docker compose start "$role"
echo "brought back: $(count labelstudio)"
