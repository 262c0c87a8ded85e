"""USER groups: every user reports how many friends it has in each public group, with noise, once.  [GROUPS.0-3]"""

from visibility_aware_edge_ldp.client.degrees import DegreeClient, Ints, class_counts
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.public.groups import groups_of
from visibility_aware_edge_ldp.public.surveys.degrees import DegreeSurvey
from visibility_aware_edge_ldp.public.surveys.groups import GroupReport, GroupSurvey


class GroupClient(DegreeClient):
    """Users with consecutive numbers who count their friends group by group.  [GROUPS.0-3]"""

    report = GroupReport

    def verify(self, survey: DegreeSurvey, round_number: int) -> DegreeSurvey:
        """Refuse groups that are not those of the public view: one that hangs on an edge would tell of it."""
        super().verify(survey, round_number)
        if not isinstance(survey, GroupSurvey) or survey.groups != groups_of(self._public):
            raise ProtocolViolation(f"The survey has other groups than {self.whose} public view.")
        return survey

    def counts(self, survey: DegreeSurvey) -> Ints:
        """(classes · groups, users): friends of each class in each group.  [GROUPS.1]"""
        return class_counts(self._view, self._public, survey.classes, groups_of(self._public))
