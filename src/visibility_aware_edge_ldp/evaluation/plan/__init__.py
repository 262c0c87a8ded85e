"""What an answer will be worth, before anybody is asked."""

from visibility_aware_edge_ldp.evaluation.plan.planner import Plan as Plan
from visibility_aware_edge_ldp.evaluation.plan.planner import plan as plan

__all__ = ["Plan", "plan"]
