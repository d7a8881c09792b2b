"""The form by which an admin starts a round."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from winosmith.web.rounds import recipes, rules


class StartForm(forms.Form):
    """A name, and a recipe: a file of the site's folder, or the settings of the form."""

    name = forms.CharField(
        label=_("Name"),
        max_length=40,
        help_text=_("Small letters, digits and dashes; it stands in addresses."),
        widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off"}),
    )
    recipe = forms.ChoiceField(label=_("Recipe"), required=False)
    method = forms.ChoiceField(
        label=_("Filter"),
        required=False,
        choices=[
            ("aflite", _("AFLite: leave out what linear models can guess")),
            ("mirror", _("mirror: leave out whole twins that a linear model guesses")),
            ("random", _("drawn by lot, as a comparison")),
            ("none", _("none: keep everything")),
        ],
    )
    threshold = forms.DecimalField(
        label=_("Score from which on a problem may be left out"),
        required=False,
        min_value=0.5,
        max_value=1,
        decimal_places=2,
        help_text=_("From 0.5 to 1; WinoGrande used 0.75."),
    )
    remove = forms.ChoiceField(
        label=_("What is left out"),
        required=False,
        choices=[("problems", _("single problems")), ("twins", _("whole twins"))],
    )
    roots = forms.IntegerField(
        label=_("Roots for the next round"),
        required=False,
        min_value=0,
        max_value=1000,
        help_text=_(
            "Problems that all solvers get right which can decide, offered to be perturbed."
        ),
    )
    solvers = forms.MultipleChoiceField(
        label=_("Solvers that show how hard it is"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("A chat model is asked each problem for development and testing once."),
    )

    def __init__(self, data: Any = None):
        usual = {"name": rules.next_name(), "method": "aflite", "threshold": "0.75",
                 "remove": "problems", "roots": 14}  # fmt: skip
        offered = recipes.solvers()
        usual["solvers"] = [table["name"] for table, unasked in offered if unasked]
        super().__init__(data, initial=usual)
        self.offered = {table["name"]: table for table, _unasked in offered}
        chosen, files = self.fields["solvers"], recipes.named()
        assert isinstance(chosen, forms.MultipleChoiceField)  # noqa: S101 - ours
        chosen.choices = [(name, f"{name} ({t['solver']})") for name, t in self.offered.items()]
        recipe = self.fields["recipe"]
        assert isinstance(recipe, forms.ChoiceField)  # noqa: S101 - ours
        recipe.choices = [("", _("the settings below")), *((name, name) for name in files)]
        if not files:
            del self.fields["recipe"]

    @property
    def filter_fields(self) -> list[forms.BoundField]:
        """The fields of the filter."""
        return [self[name] for name in ("method", "threshold", "remove")]

    def clean(self) -> dict[str, Any]:
        """Ask for a solver where no file names them."""
        typed: dict[str, Any] = super().clean() or {}
        if not typed.get("recipe") and not typed.get("solvers") and "solvers" not in self.errors:
            self.add_error("solvers", ValidationError(_("Choose a solver or more.")))
        return typed

    def table(self) -> tuple[dict[str, Any], str]:
        """Return the recipe that was chosen, and from where its paths are seen."""
        typed = self.cleaned_data
        if typed.get("recipe"):
            return recipes.read(typed["recipe"])
        chosen: dict[str, Any] = {"method": typed["method"] or "aflite"}
        if chosen["method"] != "mirror":  # which takes whole twins, and has no score
            if typed["threshold"] is not None:
                chosen["threshold"] = float(typed["threshold"])
            if typed["remove"]:
                chosen["remove"] = typed["remove"]
        table: dict[str, Any] = {
            "filter": chosen,
            "solvers": [self.offered[name] for name in typed["solvers"]],
        }
        if typed["roots"] is not None:
            table["roots"] = typed["roots"]
        return table, ""
