"""What a pod asks for follows from its containers, however they are written."""

from hypothesis import given
from hypothesis import strategies as st

from placer_models.device_share import DeviceShare
from placer_models.pod import Container, ContainerRole, DeviceRequest, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.topology import Hugepages

PAGES = st.builds(Hugepages, st.sampled_from((2**21, 2**30)), st.integers(0, 3))
DEVICES = st.builds(
    DeviceRequest,
    st.sampled_from(("gpu", "rdma")),
    st.integers(0, 3),
    st.sampled_from((None, DeviceShare(50, memory_percent=50))),
)
EXTENDED = st.tuples(st.sampled_from(("licence", "seat")), st.integers(0, 3))


def few(of: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(of, max_size=2).map(tuple)


ASKED = st.builds(
    Resources,
    st.integers(0, 5000),
    st.integers(0, 9),
    few(PAGES),
    few(DEVICES),
    few(EXTENDED),
)


@given(ASKED, st.sampled_from(ContainerRole))
def test_a_container_that_asks_for_nothing_changes_nothing(
    asked: Resources, role: ContainerRole
) -> None:
    """
    Alone, or beside an app that wants nothing, a container has what it asks for, put in order.
    """
    nothing = Container("nothing", Resources())
    alone = PodSpec((Container("main", asked, role),), QosClass.LS)
    beside = PodSpec((Container("main", asked, role), nothing), QosClass.LS)

    assert alone.requests == beside.requests
