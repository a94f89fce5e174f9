#!/bin/sh
# Install a Debian package if what it is needed for is not on this machine.
#     need.sh TEST PACKAGE
# TEST is a command line that ends with 0 if it is. Each package is installed by itself: one that
# conflicts with what is here (as Debian's npm with a nodejs from elsewhere) must not stop others.
sh -c "$1" >/dev/null 2>&1 && exit 0
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq &&
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null &&
  sh -c "$1" >/dev/null 2>&1 && exit 0
echo "no $2 here: install it, then try again" >&2
exit 1
