#!/bin/bash
# Makes the repository /app/fares. Names and dates are fixed, so every hash is the same everywhere.
set -eu
mkdir fares
cd fares
git init -q -b main
git config user.name Visitor
git config user.email visitor@example.org
git config commit.gpgsign false

day=0
commit() { # AUTHOR MESSAGE
    day=$((day + 1))
    stamp=$(printf '2024-02-%02dT09:00:00+0000' "$day")
    git add -A
    GIT_AUTHOR_NAME=$1 GIT_AUTHOR_EMAIL=team@example.org GIT_AUTHOR_DATE=$stamp \
        GIT_COMMITTER_NAME='Merge Desk' GIT_COMMITTER_EMAIL=desk@example.org GIT_COMMITTER_DATE=$stamp \
        git commit -q -m "$2"
}

cat > fare.sh <<'EOF'
# Usage: sh fare.sh ZONES
# Prints the fare in cents.
zones=$1

base=180
per_zone=45

fare=$((base + per_zone * (zones - 1)))

echo "$fare"
EOF
cat > check.sh <<'EOF'
# Fails if a fare is wrong.
test "$(sh fare.sh 1)" = 180 || exit 1
test "$(sh fare.sh 3)" = 270 || exit 1
EOF
commit 'Ada Nowak' 'Compute fares by zone'
printf 'zone 1: 170\nzone 2: 210\n' > tariff-2021.txt
commit 'Ben Ito' 'Keep the old tariff for reference'
echo 'Fares of the bus company.' > README
commit 'Ada Nowak' 'Add a README'
printf 'zone 1: 170\nzone 2: 210\nzone 3: 250\n' > tariff-2021.txt
commit 'Ben Ito' 'Complete the old tariff'
echo 'Run sh check.sh before you commit.' >> README
commit 'Caro Lind' 'Say how to check'
sed -i 's/^# Prints the fare in cents\.$/# Prints the fare in cents; every trip has at least one zone./' fare.sh
commit 'Ada Nowak' 'Say what a trip is'
echo 'Prices change in January.' >> README
commit 'Ben Ito' 'Mention when prices change'
git rm -q tariff-2021.txt
commit 'Caro Lind' 'Remove files that nobody reads'
sed -i 's/^base=180$/base=185/' fare.sh
sed -i 's/= 180/= 185/; s/= 270/= 275/' check.sh
commit 'Ada Nowak' 'Raise the base fare'
sed -i 's/(zones - 1)/zones/' fare.sh
echo 'Maintained by the fares team.' >> README
commit 'Dana Roth' 'Tidy up'
echo 'Zones are numbered from the centre.' > zones.txt
commit 'Ben Ito' 'Describe the zones'
sed -i 's/^# Usage: sh fare.sh ZONES$/# Usage: sh fare.sh ZONES [child]/' fare.sh
cat > child <<'EOF'

if [ "${2:-}" = child ]; then
    fare=$((fare / 2))
fi
EOF
sed -i '/^fare=/r child' fare.sh
rm child
commit 'Caro Lind' 'Halve the fare for children'
echo 'Zone 9 is the airport.' >> zones.txt
commit 'Ada Nowak' 'Name the last zone'
printf '1 185\n' > examples.txt
commit 'Dana Roth' 'Start a list of examples'
