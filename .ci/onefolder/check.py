"""``check.py FOLDER``: a build at its work, where there is no Python and nothing else of ours.

The folder is moved to another place first. Commands run beside files of the user's own that have
names of modules, with next to nothing in the environment. Each must end with exit code 0 and write
nothing to standard error. The editor opens an example on a screen that nobody sees, once in each
theme, of which ``--shots DIR`` keeps pictures. Needs Xvfb, and PySide6 to look at its screen.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

SIZE = "1280x720"
PATIENCE = 120
"""Seconds until a wait is given up."""
LEAST = 100
"""Colours of a screen on which a diagram is drawn, at least: an empty window has few."""
FILES = ("gradwire.py", "numpy.py", "app.py", "blocks.py", "runtime/__init__.py", "typing.py")
"""What lies in the user's folder; importing one of these is a fault."""
GRAB = """
import sys
from PySide6.QtGui import QGuiApplication
application = QGuiApplication([])
sys.exit(not application.primaryScreen().grabWindow(0).save(sys.argv[1]))
"""
COLOURS = """
import sys
from collections import Counter
from PySide6.QtGui import QImage
image = QImage(sys.argv[1])
found = Counter(image.pixel(x, y) & 0xFFFFFF for x in range(0, image.width(), 2)
    for y in range(0, image.height(), 2))
print(len(found), sum(found.most_common(1)[0][0].to_bytes(3, "big")))
"""
"""Prints how many colours a picture has, and the sum of red, green and blue of the commonest."""


class Build:
    """A build in a place of its own, and the folder of a user who works with it."""

    def __init__(self, folder: Path, place: Path) -> None:
        self.folder = place / "some where" / "gradwire"
        shutil.copytree(folder, self.folder, symlinks=True)
        self.home = place / "user"
        self.home.mkdir()
        (place / "nothing").mkdir()
        self._environment = {"HOME": str(self.home), "PATH": str(place / "nothing")}
        if os.name == "nt":
            self._environment["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
        self.assets = self.folder / "_internal" / "gradwire" / "assets"
        self.failed: list[str] = []
        for name in FILES:
            path = self.home / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"raise ImportError('{name} of the user is imported')\n")

    def start(self, *command: str | Path, **more: str) -> subprocess.Popen[str]:
        """Start an executable of the build, with variables added to the environment."""
        return subprocess.Popen(
            [str(self.folder / command[0]), *map(str, command[1:])],
            cwd=self.home,
            env=self._environment | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def run(self, *command: str | Path) -> str:
        """The output of the command; what it writes to standard error is a failure."""
        started = self.start("gradwire", *command)
        out, err = started.communicate(timeout=600)
        self.note(("gradwire", *command), started.returncode, err)
        return out

    def note(self, command: tuple[str | Path, ...], code: int | None, err: str) -> None:
        """Remember a failure."""
        if code or err:
            shown = " ".join(map(str, command))
            self.failed.append(f"$ {shown}\nexit code {code}\n{err[-4000:]}")

    def want(self, condition: object, what: str) -> None:
        """Remember what is not as it should be."""
        if not condition:
            self.failed.append(what)


def try_commands(build: Build) -> None:
    """What a user does in a terminal; study and import start other processes."""
    examples = sorted((build.assets / "diagrams").glob("*.gradwire.json"))
    build.want(examples, f"there are no examples in {build.assets}")
    example = build.assets / "diagrams" / "training_spirals.gradwire.json"
    build.want(build.run("--version").startswith("gradwire "), "it does not say its version")
    build.want("Conv2D" in build.run("blocks"), "not all blocks are there")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda path: build.run("run", path), examples))
    build.run("doctor", example)
    build.run("train", example, "--steps", "3", "--out", "trained")
    varied = ("--vary", "seed=0,1", "--steps", "2", "--workers", "2")
    build.run("study", example, *varied, "--out", "study")
    model = build.home / "model.gradwire.json"
    build.run("import", build.assets / "models" / "mxnet_seed.json", "-o", model)
    build.run("run", model)
    build.run("publish", example, "-o", "page.html")
    build.run("export", example, "--to", "numpy", "-o", "program.py")
    for name, head in (("picture.png", b"\x89PNG"), ("picture.pdf", b"%PDF"), ("p.svg", b"<?xml")):
        build.run("picture", example, "-o", name)
        drawn = build.home / name
        build.want(drawn.is_file() and drawn.read_bytes().startswith(head), f"{name} is not drawn")


@contextmanager
def screen() -> Iterator[str]:
    """A screen that nobody sees; its name."""
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", f"{SIZE}x24", "-nolisten", "tcp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        try:
            yield f":{server.stdout.readline().decode().strip()}"
        finally:
            server.terminate()


def try_editor(build: Build, theme: str, shots: Path) -> None:
    """Open an example, look at the screen until it rests, and end the editor as Ctrl-C does."""
    example = build.assets / "diagrams" / "training_spirals.gradwire.json"
    settings = build.home / ".config" / "Gradwire" / "Gradwire.conf"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f"[General]\ntheme={theme}\n")
    shot = shots / f"editor_{theme}.png"
    with screen() as display:
        started = build.start("gradwire-editor", example, DISPLAY=display, QT_QPA_PLATFORM="xcb")
        brightness = look(started, display, shot)
        build.want(brightness is not None, f"the editor shows nothing ({theme})")
        is_dark = (brightness or 0) < 3 * 128
        build.want(is_dark == (theme == "dark"), f"the theme is not {theme}")
        started.send_signal(signal.SIGINT)
        try:
            _, err = started.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            started.kill()
            _, err = started.communicate()
            build.failed.append("the editor does not close")
        build.note(("gradwire-editor", example, theme), started.returncode, err)


def look(started: subprocess.Popen[str], display: str, shot: Path) -> int | None:
    """Take pictures until one is like that before it and has a diagram: its brightness, or None."""
    before, environment = b"", os.environ | {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
    for _ in range(PATIENCE):
        time.sleep(1)
        if started.poll() is not None:
            return None
        subprocess.run([sys.executable, "-c", GRAB, shot], env=environment, check=True)
        if (seen := shot.read_bytes()) == before:
            found = subprocess.check_output([sys.executable, "-c", COLOURS, shot], text=True)
            colours, brightness = map(int, found.split())
            if colours >= LEAST:
                return brightness
        before = seen
    return None


def weigh(folder: Path) -> None:
    """Print the size of the folder, and its largest parts."""
    parts: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            place = path.relative_to(folder).parts
            parts["/".join(place[1:2] if len(place) > 1 else place)] += path.stat().st_size
    print(f"{sum(parts.values()) / 1e6:.0f} MB")
    for name, size in parts.most_common(12):
        print(f"  {size / 1e6:6.1f} MB {name}")


def main() -> int:
    """Exit code 0 if nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shots", type=Path, help="where to keep pictures of the editor")
    chosen = parser.parse_args()
    weigh(chosen.folder)
    with tempfile.TemporaryDirectory(prefix="build-") as place:
        build = Build(chosen.folder, Path(place))
        try_commands(build)
        shots = chosen.shots or Path(place)
        shots.mkdir(parents=True, exist_ok=True)
        for theme in ("light", "dark"):
            try_editor(build, theme, shots)
    print(f"{len(build.failed)} failures")
    print(*build.failed, sep="\n\n", file=sys.stderr)
    return 1 if build.failed else 0


if __name__ == "__main__":
    sys.exit(main())
