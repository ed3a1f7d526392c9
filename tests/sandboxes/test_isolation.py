"""What a sandbox must not see or touch."""

import os
import socket
from pathlib import Path

import pytest

import tbeval
from tbeval.sandboxes.limits import Limits

from .conftest import MakeCage, commands, shell

pytestmark = pytest.mark.sandbox


async def test_the_environment_is_clean(
    make_cage: MakeCage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "geheim")
    cage = await make_cage()
    said = await shell(cage, "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'")
    assert "geheim" not in said.out
    assert not {line.partition("=")[0] for line in said.out.split()} & {"VIRTUAL_ENV", "PYTHONPATH"}


async def test_the_hosts_files_are_not_there(make_cage: MakeCage) -> None:
    cage = await make_cage()
    project = Path(tbeval.__file__).parent
    for path in (project, Path.home(), Path(os.environ["TBEVAL_STATE_DIR"])):
        if path != Path("/root"):
            assert (await shell(cage, f"test -e {path}")).code == 1, path
    assert (await shell(cage, "ls -A /root /home /tmp /mnt /srv")).out.split() == [
        "/home:", "/mnt:", "/root:", "/srv:", "/tmp:",
    ]  # fmt: skip
    for name in ("shadow", "pip.conf", "wgetrc", "environment", "ssh", "ssl/private", "gshadow"):
        assert (await shell(cage, f"test -e /etc/{name}")).code == 1, name
    assert "tbeval" not in (await shell(cage, "tr '\\0' ' ' < /proc/1/cmdline")).out


async def test_only_its_own_processes(make_cage: MakeCage) -> None:
    cage, other = await make_cage(), await make_cage()
    await shell(other, "sleep 1007 & disown; echo secret > /tmp/mine")
    assert "sleep 1007" in await commands(other)
    assert await commands(cage) == ["sleep infinity"]
    assert (await shell(cage, "test -e /tmp/mine")).code == 1


@pytest.mark.parametrize(
    "attempt",
    [
        "touch /usr/x",
        "rm -rf /usr/bin/env",
        "mount -t tmpfs tmpfs /mnt",
        "mount -o remount,size=9g /",
        "umount /usr",
        "unshare -U true",
        "unshare -m true",
        "echo 9 > /proc/sys/user/max_user_namespaces",
        "echo 1 > /proc/sys/kernel/sysrq",
        "hostname other",
        "mknod /app/d b 254 0",
        "chown nobody /app",
        "mv /etc /etc2",
        "mv /lib64 /lib65",
        "echo /app/x.so > /etc/ld.so.preload",
        "rm -f /etc/ld.so.cache",
        "cat /proc/1/environ",
        "ls /proc/1/root/",
        "dmesg",
    ],
)
async def test_refused(make_cage: MakeCage, attempt: str) -> None:
    said = await shell(await make_cage(), attempt)
    assert said.code != 0, said


async def test_no_capabilities(make_cage: MakeCage) -> None:
    said = await shell(await make_cage(), "grep -E 'Cap|NoNew' /proc/self/status")
    assert {line.split()[1].lstrip("0") for line in said.out.splitlines()} == {"", "1"}


async def test_no_network(make_cage: MakeCage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        cage = await make_cage()
        assert (await shell(cage, f"exec 3<>/dev/tcp/127.0.0.1/{port}")).code != 0
    said = await shell(cage, "tail -n +3 /proc/net/dev | cut -d: -f1")
    assert said.out.split() == ["lo"]
    serve = "/usr/bin/python3 -m http.server 8123 >/dev/null 2>&1 &"
    ask = "until exec 3<>/dev/tcp/localhost/8123; do sleep 0.05; done 2>/dev/null; echo up"
    assert (await shell(cage, f"{serve} {ask}")).out == "up\n"


async def test_the_hosts_network_where_asked_for(make_cage: MakeCage) -> None:
    cage = await make_cage(Limits(network=True))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert (await shell(cage, f"exec 3<>/dev/tcp/127.0.0.1/{port}")).code == 0


async def test_one_writable_file_system(make_cage: MakeCage) -> None:
    cage = await make_cage()
    script = "import os\nfor d in '/tmp /root /home /var/tmp /srv /logs/agent'.split():"
    script += "\n open('/app/f','w').close(); os.rename('/app/f', d+'/f')"
    said = await shell(cage, f'/usr/bin/python3 -c "{script}" && mkdir /new && echo x > /etc/x')
    assert said.code == 0, said


async def test_common_tools_work(make_cage: MakeCage) -> None:
    cage = await make_cage()
    script = """set -e
printf 'int main(void){return 7;}' > a.c; gcc a.c -o a; ./a || [ $? = 7 ]
git init -q r; cd r; git config user.email a@b; git config user.name n
echo x > x; git add x; git commit -qm m; git log --oneline | wc -l
perl -e 'print 1+1, "\\n"'; awk 'BEGIN{print 3}'; getent hosts localhost | cut -d' ' -f1
cd ..; tar cf t.tar r; rm -r r; tar xf t.tar; ls r; date +%Z; ls /dev/fd/0 /dev/ptmx
"""
    said = await shell(cage, script)
    assert said.code == 0, said
    assert said.out.split()[:3] == ["1", "2", "3"]
