"""The models that every site has, unless `site.toml` names others."""

from __future__ import annotations

from winosmith.solver_rule import SolverRule

BUILT_IN = (SolverRule("association", "association"), SolverRule("hunting", "hunting"))
"""What every site has without a download: word association and knowledge hunting, learnt from what
ships with winosmith. `models = []` in `site.toml` switches them off."""
