"""Metrics of the agent and of its node, for Prometheus, collected at each request."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from placer.node.agent.agent import Agent
from placer.node.agent.strangers import StrangerKind


class AgentMetrics(Collector):
    """A collector with a registry of its own, which also has the process's memory and CPU time."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.registry.register(self)
        self.seconds = Histogram(
            "placer_agent_look_seconds",
            "How long it took to look at the node, and to repair it.",
            registry=self.registry,
            buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
        )

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its present value."""
        document, status, counts = self._agent.document, self._agent.status, self._agent.counts
        for name, text, value in (
            (
                "generation",
                "Generation of the document in force; 0: none.",
                document.generation if document else 0,
            ),
            ("pods", "Pods of the document in force.", len(document.pods) if document else 0),
            (
                "containers_absent",
                "Containers of the document that do not run.",
                len(status.plan.absent),
            ),
            (
                "containers_left_alone",
                "Containers whose cgroup is not certain, or cannot be written.",
                len(status.plan.left_alone),
            ),
            (
                "containers_observed",
                "Containers that somebody else writes, and that differ.",
                len(status.plan.observed),
            ),
            ("cpus_offline", "1 while a CPU that a pod owns is offline.", bool(status.offline)),
            (
                "devices_unhealthy",
                "Devices that pods hold and that are unhealthy.",
                len(status.unhealthy),
            ),
            (
                "device_health_unknown",
                "1 while the health of GPUs that pods hold may not be asked for.",
                bool(status.unknown_health),
            ),
            ("observe_only", "1 while nothing may be written.", bool(status.observe_only)),
            (
                "node_obeys",
                "1 while the node does what the newest document says.",
                not self._agent.trouble(),
            ),
        ):
            yield GaugeMetricFamily(f"placer_agent_{name}", text, value=float(value))
        if (owned := self._agent.owned) is not None:
            strangers = GaugeMetricFamily(
                "placer_agent_strangers",
                "What may run on CPUs that pods own alone, and is in no pod.",
                labels=["kind"],
            )
            for kind in StrangerKind:
                strangers.add_metric([kind], float(owned.count(kind)))
            yield strangers
            text = "What is moved off CPUs that pods own alone."
            yield GaugeMetricFamily("placer_agent_cleared", text, value=float(owned.cleared))
        for name, text, value in (
            ("documents_applied", "Documents that were taken.", counts.applied),
            ("documents_refused", "Documents that were refused.", counts.refused),
            ("drifts", "Times that the node was not as the document says.", counts.drifts),
            ("repairs", "Times that this was repaired.", counts.repairs),
        ):
            yield CounterMetricFamily(f"placer_agent_{name}", text, value=float(value))
