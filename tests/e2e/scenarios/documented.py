"""What the documents show, held against the real API server: their objects and their commands."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.docs.__main__ import untried
from tests.docs.blocks import ROOT, Block, pages
from tests.docs.commands import CommandError, Where, Workplace, command_blocks, workplace
from tests.docs.objects import Tree, objects_of
from tests.e2e.world import Scenario, World

ABSENT: Mapping[str, str] = {
    "InferenceService": "KServe is not in the stack",
    "Kustomization": "kustomize reads it, the API server never sees it",
}
"""Kinds that this API server does not serve: for them `check` and their form must do."""
EXAMPLES = tuple(
    str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("deploy/examples/*.yaml"))
)
"""What the documents link to."""
SHIPPED = frozenset({"kueue-gpu-scaler", "keda"})
"""Namespaces in which all scenarios' programs are: a dry run alone goes there."""
JUDGED_ONLY = frozenset(
    {
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "APIService",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }
)
"""Kinds that bear on every scenario."""


@dataclass(slots=True)
class Tried:
    """What came out so far."""

    objects: int = 0
    commands: int = 0
    pages: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Page:
    """One page beside the cluster."""

    name: str
    place: Workplace
    objects: Sequence[Tree]
    """Those of kinds that the API server serves."""
    blocks: Sequence[Block]
    tried: Tried

    def play(self) -> None:
        """Judge the objects; where commands are run, have them there before and gone after."""
        if not self._judged():
            return
        stands = [each for each in self.objects if _may_stand(each)]
        real = any("dry-run" not in block.marks for block in self.blocks) and bool(stands)
        if real and not self._kubectl("apply", stands):
            return
        try:
            for block in self.blocks:
                self.tried.commands += self._run(block)
        finally:
            if real:
                self._kubectl("delete --ignore-not-found --timeout=60s", stands[::-1])

    def _judged(self) -> bool:
        self.tried.objects += len(self.objects)
        return not self.objects or self._kubectl("apply --dry-run=server", self.objects)

    def _kubectl(self, verb: str, objects: Sequence[Tree]) -> bool:
        """Give objects to kubectl; say whether the API server took all of them."""
        file = self.place.folder / ".objects.yaml"
        file.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
        text = f"kubectl {verb} -f {file.name}"
        return self._run(Block(page=self.name, line=0, language="sh", text=text))

    def _run(self, block: Block) -> bool:
        try:
            self.place.run(block)
        except CommandError as error:
            self.tried.wrong.append(str(error))
            return False
        return True


def d1(world: World) -> str:
    """Each object is taken by the API server, each command for a cluster does what it says."""
    kubectl = shutil.which("kubectl")
    assert kubectl, "kubectl is not installed"
    tried = Tried()
    _served(world, tried)
    for name in (*pages(), *EXAMPLES):
        folder = world.stack.folder / "documents" / name.replace("/", "-")
        folder.mkdir(parents=True)
        _page(world, name, folder=folder, kubectl=kubectl, tried=tried)
    assert not tried.wrong, "\n".join(tried.wrong)
    return (
        f"{tried.objects} objects of {tried.pages} pages and examples taken, {tried.commands} "
        f"blocks of commands run; {len(untried())} blocks are not tried, each says why"
    )


def _page(world: World, name: str, *, folder: Path, kubectl: str, tried: Tried) -> None:
    found = [each for each in shown(name) if each["kind"] not in ABSENT]
    blocks = command_blocks(name, Where.CLUSTER)
    if not (found or blocks):
        return
    tried.pages += 1
    for namespace in sorted({each["metadata"].get("namespace", "default") for each in found}):
        if world.api.get("Namespace", namespace) is None:
            wanted = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            world.api.create(wanted)
    config = world.stack.certificates.path("admin.kubeconfig").resolve()
    with workplace(
        name,
        folder,
        environment={"KUBECONFIG": str(config)},
        kubectl=kubectl,
        policy=world.scaler.policy,
    ) as place:
        Page(name=name, place=place, objects=found, blocks=blocks, tried=tried).play()


def shown(name: str) -> Sequence[Tree]:
    """Give the objects of a page, or of an example."""
    if name not in EXAMPLES:
        return objects_of(name)
    return list(yaml.safe_load_all((ROOT / name).read_text(encoding="utf-8")))


def _may_stand(wanted: Tree) -> bool:
    """Say whether an object may be in the cluster for a while without bearing on others."""
    meta = wanted["metadata"]
    place = meta["name"] if wanted["kind"] == "Namespace" else meta.get("namespace")
    return place not in SHIPPED and wanted["kind"] not in JUDGED_ONLY


def _served(world: World, tried: Tried) -> None:
    """Demand that no kind is passed over that the API server does serve."""
    groups = world.api.call("GET", "/apis")["groups"]
    roots = ["/api/v1", *(f"/apis/{v['groupVersion']}" for g in groups for v in g["versions"])]
    kinds = {each["kind"] for root in roots for each in world.api.call("GET", root)["resources"]}
    tried.wrong += [f"{kind} is served, yet passed over" for kind in sorted(ABSENT.keys() & kinds)]


SCENARIOS = (
    Scenario(id="D1", title="the documents' objects are taken, their commands run", play=d1),
)
