"""Files that are written whole or not at all."""
import os
import stat
import subprocess
import sys

import pytest

from mindlite.common.files import replacing


@pytest.fixture(params=["without a name", "with a name"])
def way(request, monkeypatch):
    if request.param == "with a name":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return request.param


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_takes_the_place_of_another_when_it_is_whole(tmp_path, way, durable):
    path = tmp_path / "new" / "x.ckpt"
    for text in (b"first", b"second"):
        with replacing(path, durable) as stream:
            stream.write(text)
            assert not path.exists() or path.read_bytes() == b"first"
        assert path.read_bytes() == text
    (tmp_path / "plain").write_bytes(b"")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    with pytest.raises(KeyError):
        with replacing(path, durable) as stream:
            stream.write(b"third")
            raise KeyError
    assert os.listdir(path.parent) == ["x.ckpt"] and path.read_bytes() == b"second"


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path, way):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file"):
        with replacing(tmp_path / "file" / "x") as stream:
            stream.write(b"")


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name are Linux's")
def test_a_program_that_is_killed_leaves_nothing_beside_the_old_file(tmp_path):
    (tmp_path / "x").write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", f"""if True:
        import os
        from mindlite.common.files import replacing
        with replacing({str(tmp_path / 'x')!r}) as stream:
            stream.write(bytes(10_000_000))
            os.kill(os.getpid(), 9)
        """], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    assert os.listdir(tmp_path) == ["x"] and (tmp_path / "x").read_bytes() == b"old"
