"""The source documents' system: six queries by smooth sensitivity, with guarantees that are true.

The documents call it local; it needs a trusted centre, and every proof says so.
``python -m visibility_aware_edge_ldp.guaranteed_dp`` prints it all for the default graph.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from visibility_aware_edge_ldp.aggregator.answers import number
from visibility_aware_edge_ldp.dataset import default_graph
from visibility_aware_edge_ldp.errors import MissingPart, TooLarge
from visibility_aware_edge_ldp.model import VisibilityAwareGraph, VisibilityPolicy
from visibility_aware_edge_ldp.privacy import (
    Bill,
    Guarantee,
    Number,
    OneEdge,
    Release,
    optimal_epsilon,
    parse_delta,
    parse_epsilon,
)
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy as AnyPolicy
from visibility_aware_edge_ldp.public.surveys.curator import QUERIES, CuratorSurvey
from visibility_aware_edge_ldp.public.trust import CURATOR
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC
from visibility_aware_edge_ldp.simulation.curator import CentralAnswer, Centre, ask_within, promised, survey_for
from visibility_aware_edge_ldp.simulation.estimate import estimate
from visibility_aware_edge_ldp.simulation.worlds import assumptions_of
from visibility_aware_edge_ldp.tabular import aligned

THEOREMS = {
    "constant": "discrete Laplace on a constant sensitivity [CURATOR.1], [DL.1]",
    "laplace": "Laplace on a smooth bound [CURATOR.2], [SN.1]",
    "power": "power noise on a smooth bound [CURATOR.2], [POWER.1]",
    "student_t": "Student-t on a smooth bound [CURATOR.2], [SN.2]",
    "cauchy": "Cauchy on a smooth bound [CURATOR.2], [SN.3]",
}
ADAPTIVE = "the split was chosen from a pilot; only the total that was fixed beforehand is a theorem"
PRIVATE_FIELDS = ("local_sensitivity", "smooth_sensitivity", "noise_scale", "standard_error", "interval")


class VAEdgeLDPSystem:
    """Six queries on a graph that a trusted centre holds.

    Parameters
    ----------
    epsilon, delta
        The loss of **each** query per PRIVATE edge (twice epsilon per FRIEND_VISIBLE edge, unless the policy says
        otherwise). delta = 0 asks for pure noise.
    total_epsilon
        Instead of epsilon: the loss of all queries together, split so that their relative errors are alike.
    noise
        "laplace", "power", "student_t" or "cauchy"; by default Laplace where delta > 0 and power where it is 0.
    """

    def __init__(
        self,
        epsilon: Number | None = None,
        delta: Number = 0,
        *,
        total_epsilon: Number | None = None,
        noise: str | None = None,
    ) -> None:
        self.epsilon = parse_epsilon(1 if epsilon is None else epsilon)
        self.total_epsilon = None if total_epsilon is None else parse_epsilon(total_epsilon, "total_epsilon")
        self.delta, self.noise = parse_delta(delta), noise

    def run_all(
        self,
        va_graph: VisibilityAwareGraph,
        queries: Sequence[str] = QUERIES,
        *,
        seed: int | str | None = None,
        without_centre: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """Every query's value and proof, and their ``_composition``.

        ``without_centre`` adds the standard error that the POSITION model would have for the same epsilon.
        """
        centre = Centre(va_graph)
        if self.total_epsilon is None:
            survey = survey_for(va_graph, self.epsilon, self.delta, queries, self.noise)
            answers, surveys = centre.ask(survey, seed), [survey]
        else:
            answers, surveys = ask_within(centre, self.total_epsilon, self.delta, queries, self.noise, seed)
        results = {name: _result(va_graph, answer) for name, answer in answers.items()}
        if without_centre:
            self._add_local(va_graph, results)
        return {**results, "_composition": _composition(surveys, self.total_epsilon, va_graph.policy, seed is not None)}

    def _add_local(self, va_graph: VisibilityAwareGraph, results: Mapping[str, dict[str, Any]]) -> None:
        """The price of not trusting: POSITION answers all queries together for this epsilon."""
        loss = self.total_epsilon or self.epsilon
        try:
            local = estimate(va_graph, "position", loss, list(results))
        except TooLarge as reason:
            for result in results.values():
                result["without_centre"] = {"standard_error": None, "reason": str(reason)}
            return
        for name, result in results.items():
            result["without_centre"] = {
                "trust_model": "POSITION (local)",
                "epsilon_for_all_queries": float(loss),
                "not_for_release": "made from the graph beside the answers, and not on their bill",
                "standard_error": float(local[name].standard_error) if local[name].has_standard_error else None,
            }


def _result(va_graph: VisibilityAwareGraph, answer: CentralAnswer) -> dict[str, Any]:
    low, high = answer.estimate.interval(0.95)
    return {
        "value": int(np.asarray(answer.estimate.value)),
        "clamped": answer.clamped,
        "public_part": answer.public_part,
        "proof": {
            **_proof(va_graph, answer),
            "standard_error": answer.evidence.standard_deviation,
            "interval": (low, high),
        },
        "standard_error": answer.evidence.standard_deviation,
        "interval": (low, high),
    }


def _proof(va_graph: VisibilityAwareGraph, answer: CentralAnswer) -> dict[str, Any]:
    query, evidence = answer.query, answer.evidence
    price = {str(kind): query.price(kind) for kind in NON_PUBLIC[::-1]}
    private = price["PRIVATE"]
    return {
        "guarantee": f"({float(private.epsilon):g}, {float(private.delta):g})-DP per PRIVATE edge, central (not local)",
        "trust_model": f"CURATOR, {CURATOR.promise}",
        "relation": private.relation.words,
        "loss": {name: {"epsilon": float(p.epsilon), "delta": float(p.delta)} for name, p in price.items()},
        "local_sensitivity": float(evidence.local_sensitivity),
        "smooth_sensitivity": float(evidence.smooth_sensitivity),
        "beta": None if evidence.beta is None else float(evidence.beta),
        "noise": "discrete laplace" if query.has_constant_sensitivity else query.noise,
        "noise_scale": evidence.noise_scale,
        "theorem": THEOREMS["constant" if query.has_constant_sensitivity else query.noise],
        "assumptions": (*assumptions_of(va_graph), "nobody but the centre sees the graph"),
        "not_for_release": () if evidence.releasable else PRIVATE_FIELDS,
    }


def _composition(
    surveys: Iterable[CuratorSurvey], total: Fraction | None, policy: AnyPolicy, simulated: bool
) -> dict[str, Any]:
    """The sum over distinct releases, and the tighter figure where the library is installed."""
    releases: list[Release] = [*policy.paid, *(release for survey in surveys for release in survey.releases)]
    bill = dict(Bill(releases)) if total is None else _fixed_beforehand(Bill(releases), total, policy)
    private = bill["PRIVATE"]
    return {
        "guarantee": f"({float(private.epsilon):g}, {float(private.delta):g})-DP per PRIVATE edge, central (not local)",
        "releases": len(releases),
        "epsilon": float(private.epsilon),
        "delta": float(private.delta),
        "bill": {
            str(name): {"epsilon": float(price.epsilon), "delta": float(price.delta)} for name, price in bill.items()
        },
        "tighter": _tighter(releases, float(private.delta)) if total is None else {"epsilon": None, "reason": ADAPTIVE},
        "simulation_not_private": simulated,
    }


def _tighter(releases: Iterable[Release], delta: float) -> dict[str, Any]:
    allowed = delta + 1e-6
    prices = [price for release in releases for kind, price in release.prices if str(kind) == "PRIVATE"]
    try:
        return {"epsilon": optimal_epsilon(prices, allowed), "delta": allowed, "by": "dp-accounting"}
    except MissingPart as part:
        return {"epsilon": None, "reason": str(part)}


def _fixed_beforehand(bill: Bill, total: Fraction, policy: AnyPolicy) -> dict[Hashable, Guarantee[OneEdge]]:
    """The promise that held before the pilot: the total, whatever the split became.  [CURATOR.3]"""
    paid, promises = Bill(policy.paid), promised(policy, total, bill["PRIVATE"].delta)
    return {str(kind): price + paid[kind] if kind in paid else price for kind, price in promises.items()}


def table(results: Mapping[str, dict[str, Any]]) -> str:
    """The results as text."""
    head = ("query", "value", "± s.e.", "S*", "noise", "guarantee per PRIVATE edge", "s.e. without a centre")
    rows = [head, *(_row(name, data) for name, data in results.items() if name != "_composition")]
    lines = aligned(rows)
    lines.insert(1, "-" * len(lines[0]))
    return "\n".join(lines)


def _row(name: str, data: Mapping[str, Any]) -> tuple[str, ...]:
    proof, local = data["proof"], data.get("without_centre", {})
    price = proof["loss"]["PRIVATE"]
    error = local.get("standard_error")
    return (
        name,
        f"{data['value']:,}",
        number(data["standard_error"]),
        number(proof["smooth_sensitivity"]),
        proof["noise"],
        f"ε = {price['epsilon']:g}, δ = {price['delta']:g}",
        "-" if error is None else number(error),
    )


def main() -> None:
    """Document 001's example on the default graph."""
    graph, _ = default_graph()
    policy = VisibilityPolicy(public_fraction=0.15, friend_visible_fraction=0.35, private_fraction=0.50)
    results = VAEdgeLDPSystem(1.0, 1e-6).run_all(VisibilityAwareGraph(graph, policy), without_centre=True)
    total = results["_composition"]
    print(f"{graph.source}: {graph.n:,} nodes; a trusted centre answers; {policy}\n")
    print(table(results))
    print(f"\nAll together: {total['guarantee']}; twice that ε per FRIEND_VISIBLE edge.")
    if total["tighter"]["epsilon"] is not None:
        print(
            f"Tighter, by dp-accounting: ε = {total['tighter']['epsilon']:.3g} at δ = {total['tighter']['delta']:.2g}."
        )
    print(
        "Values are for release; S*, standard errors and intervals of triangles and stars are for the centre's eyes.\n"
        "Without a centre (POSITION, nobody trusted) one ε = 1 pays for all queries together; that column is for the\n"
        "centre's eyes too."
    )


if __name__ == "__main__":
    main()
