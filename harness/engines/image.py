"""Images: a base with one torch, over it each problem's own; a tag is a hash of their content."""

import hashlib
import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.engines.docker_cli import Client, explained
from harness.engines.downloads import Downloads
from harness.engines.local import CPU_TORCH, PROBE_LOCK
from harness.engines.options import Options
from harness.ground import files, process
from harness.ground.checkout import CHECKOUT
from harness.ground.errors import ToolError
from harness.machine.target import Target
from harness.problem import sources
from harness.problem.model import Problem

_SCRIPTS = "scripts"
"""The folder of a build in which scripts lie as cells see them: ``problem``, needed ones beside."""

_BUILD_DEADLINE_S = 7200
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


@dataclass(frozen=True)
class Build:
    """One image to build: its tag, its context's files by the name they have there, its arguments.

    The tag names the content: a change of any file or argument is another image.
    """

    name: str
    sources: dict[str, Path]
    dockerfile: str
    arguments: dict[str, str]
    wheels: Path | None

    @property
    def tag(self) -> str:
        """Return ``worklogs/<name>:<hash>``."""
        digest = hashlib.sha256(repr(sorted(self.arguments.items())).encode())
        for name, path in sorted(self.sources.items()):
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
        return f"worklogs/{files.safe_name(self.name)}:{digest.hexdigest()[:12]}"

    @property
    def context(self) -> Path:
        """Return the folder that the build sees."""
        return CHECKOUT / ".envs" / "images" / re.sub(r"\W", "-", self.tag)

    def downloads(self) -> tuple[list[Path], list[str]]:
        """Return the locks whose packages the build downloads, and the images that it begins with.

        Locks that an argument does not choose stay out, as do images that none is made of.
        """
        wanted = set(self.arguments.values()) | {"tools.lock"}
        locks = [
            path
            for name, path in self.sources.items()
            if path.suffix == ".lock" and (path.name in wanted or name.startswith("env/"))
        ]
        text = self.sources[self.dockerfile].read_text(encoding="utf-8")
        bases = dict(re.findall(r"^ARG (\w+_IMAGE)=(\S+)$", text, re.MULTILINE))
        if "without" in (self.arguments.get("PROFILERS"), self.arguments.get("NVCC")):
            bases = {name: image for name, image in bases.items() if name == "BASE_IMAGE"}
        images = [self.arguments.get(name) or image for name, image in bases.items()]
        return ([] if self.wheels else locks), images

    def stage(self) -> None:
        """Fill the context with the image's own files; the rest of the checkout stays out."""
        with files.atomic_folder(self.context) as folder:
            for name, path in self.sources.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, folder / name)  # with its permission to be run
            (folder / "wheels").mkdir()
            for package in sorted(self.wheels.iterdir()) if self.wheels else ():
                if package.name.endswith((".whl", ".tar.gz")):  # some come as source only
                    shutil.copyfile(package, folder / "wheels" / package.name)

    def argv(self, client: Client) -> list[str]:
        """Return the build's command; secrets and proxies are the caller's own."""
        arguments = [
            f"--build-arg={name}={value}" for name, value in sorted(self.arguments.items())
        ]
        arguments += [f"--build-arg={name}" for name in _PROXIES if name in os.environ]
        # With wheels the build needs no network, so it gets none.
        network = ["--network=none"] if self.wheels else []
        return [
            *("env", "DOCKER_BUILDKIT=1", client.program, "build", f"--tag={self.tag}", *network),
            *client.build_flags(),
            *(
                f"--file={self.context / self.dockerfile}",
                *arguments,
                *_secrets(),
                str(self.context),
            ),
        ]

    def make(self, client: Client, log: Path) -> None:
        """Build the image unless the engine has it; ToolError with the engine's reason."""
        if client.image_digest(self.tag):
            return
        self.stage()
        try:
            done = process.run(
                self.argv(client),
                cwd=CHECKOUT,
                env=process.environment({}),
                log=log,
                deadline_s=_BUILD_DEADLINE_S,
            )
        finally:
            shutil.rmtree(self.context, ignore_errors=True)
        if done.status != "ok":
            text = log.read_text(encoding="utf-8", errors="replace")
            why = explained(text) or done.detail
            raise ToolError(f"building {self.tag} {done.status}: {why}", where=log)


def missing(client: Client, images: Iterable[Build]) -> Downloads:
    """Return what building those of the images downloads that the engine has not."""
    named = [build.downloads() for build in images if not client.image_digest(build.tag)]
    locks = dict.fromkeys(lock for each, _ in named for lock in each)
    bases = dict.fromkeys(base for _, each in named for base in each)
    return Downloads(tuple(locks), images=tuple(bases), into=f"the images of {client.name}")


def staged(client: Client, images: Iterable[Build]) -> list[list[str]]:
    """Fill the contexts of the images that the engine has not; return the commands that build."""
    absent = [build for build in images if not client.image_digest(build.tag)]
    for build in absent:
        build.stage()
    return [build.argv(client) for build in absent]


def pulls(client: Client, problem: Problem, environments: list[str]) -> list[list[str]]:
    """Return the commands that fetch the environments' own images that are not here."""
    images = [problem.environments[name].image for name in environments]
    return [
        [client.program, "pull", image]
        for image in images
        if image and client.image_digest(image) is None
    ]


def fetch(client: Client, problem: Problem, environments: list[str], log: Path) -> None:
    """Fetch these images; where that fails, the image's cells fail later, and no others."""
    for argv in pulls(client, problem, environments):
        env = process.environment({})
        process.run(argv, cwd=CHECKOUT, env=env, log=log, deadline_s=_BUILD_DEADLINE_S)


def builds(problem: Problem, target: Target, options: Options) -> tuple[Build, ...]:
    """Return the base's and the problem's build, in order; UsageError for a bad argument."""
    folder = problem.folder
    if not (folder / "Dockerfile").is_file():
        raise ToolError("no Dockerfile, so it runs on the host only", where=folder)
    torch = {"TORCH_LOCK": "torch-gpu.lock"}
    wheels = options.wheels.resolve() if options.wheels else None
    if target.gpu is None:
        torch = {
            "TORCH_LOCK": "torch-cpu.lock",
            "TORCH_UNLOCKED": CPU_TORCH,
            "PROFILERS": "without",
        }
    else:
        torch["PROBE_LOCK"] = PROBE_LOCK.name
    docker, locks = CHECKOUT / "docker", CHECKOUT / "requirements"
    shared = {
        f"docker/{name}": docker / name for name in ("Dockerfile", "install-locked", "tools.lock")
    }
    locks_of_cells = [*sorted(locks.glob("torch-*.lock")), PROBE_LOCK]
    shared |= {f"requirements/{path.name}": path for path in locks_of_cells}
    base = Build("base", shared, "docker/Dockerfile", torch | options.named_arguments(), wheels)
    text = (folder / "Dockerfile").read_text(encoding="utf-8")
    offered = {"NVCC": "with" if target.gpu else "without"} | options.named_arguments()
    arguments = {"BASE": base.tag} | _declared(text, offered)
    return base, Build(folder.name, _own_sources(problem, text), "Dockerfile", arguments, wheels)


def _own_sources(problem: Problem, dockerfile: str) -> dict[str, Path]:
    """Return the files of a problem's build: its locks, and its scripts if it copies them."""
    folder = problem.folder
    own = {"Dockerfile": folder / "Dockerfile"}
    locks = (environment.lock for environment in problem.environments.values())
    own |= {lock: folder / lock for lock in locks if lock}
    if re.search(rf"^COPY {_SCRIPTS}/ ", dockerfile, re.MULTILINE):
        seen = {f"problem/{path.relative_to(folder)}": path for path in sources.of(folder)}
        own |= {f"{_SCRIPTS}/{name}": path for name, path in (seen | problem.used).items()}
    return own


def _declared(dockerfile: str, arguments: dict[str, str]) -> dict[str, str]:
    """Return the ``arguments`` that a problem's Dockerfile declares."""
    declared = set(re.findall(r"^ARG (\w+)", dockerfile, re.MULTILINE))
    return {name: value for name, value in arguments.items() if name in declared - {"BASE"}}


def _secrets() -> list[str]:
    """Return the build's secrets, which stay in no layer: a CA bundle, the lines of an index."""
    secrets = {
        "ca": os.environ.get("SSL_CERT_FILE") or os.environ.get("PIP_CERT"),
        "index": os.environ.get("WORKLOGS_INDEX"),
    }
    return [
        f"--secret=id={name},src={path}"
        for name, path in secrets.items()
        if path and Path(path).is_file()
    ]
