#!/bin/sh
# A fake interpreter: it makes an environment, whose pip then runs the last line.
if [ "$2" = venv ]; then
  mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; echo venv >> "FOLDER/log"; exit 0
fi
echo "$@" >> "FOLDER/log"
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "Collecting p$n"; done
echo "Installing collected packages: p1"
THEN
