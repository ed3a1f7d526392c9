#!/bin/bash
set -eu
mkdir -p office/letters/old office/tools
echo 'key 4711' > office/door.key
echo 'Dear Sir,' > office/letters/first.txt
echo 'Dear Madam,' > 'office/letters/second letter.txt'
echo 'To whom it may concern,' > office/letters/old/third.txt
printf '#!/bin/sh\necho open\n' > office/tools/open.sh
printf '#!/bin/sh\necho closed\n' > 'office/tools/close up.sh'
find office -type f -name '*.txt' -exec chmod 666 {} +
find office -type f -name '*.sh' -exec chmod 644 {} +
chmod 664 office/letters/old/third.txt
chmod 666 office/door.key
chmod 777 office office/letters office/tools
chmod 775 office/letters/old
