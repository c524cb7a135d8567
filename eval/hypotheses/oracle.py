"""The oracle: each plant as the claim that a method would make if it knew."""

from arena.plants import Plant
from eval.hypotheses.proposals import Proposal

#: The form that says what an archetype is.
FORM = {
    "monotone_threshold": "threshold",
    "non_monotone": "non_monotone",
    "interaction_reversal": "interaction_reversal",
    "subpopulation_only": "subpopulation",
    "derived_feature": "derived_feature",
    "simpsons_paradox": "simpsons",
    "mediation_chain": "mediation",
    "category_level": "categorical_level",
}


def claim(plant: Plant, direction: str | None = None) -> Proposal:
    """The claim of a plant.

    Args:
        plant: From the answer key.
        direction: Where the answer key leaves it to the experiment.
    """
    return Proposal.model_validate(
        {
            "variable": plant.variable,
            "form": FORM[plant.archetype],
            "direction": plant.direction or direction or "+",
            "moderator": plant.moderator,
            "level": plant.level,
        }
    )
