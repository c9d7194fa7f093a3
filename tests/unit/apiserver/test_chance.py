"""Random names and uids."""

from uuid import UUID

from winkube.apiserver.chance import Chance


def test_a_uid_is_a_random_uuid_in_its_usual_form() -> None:
    chance = Chance(7)
    uids = [chance.uid() for _ in range(200)]
    assert len(set(uids)) == 200
    for uid in uids:
        parsed = UUID(uid)
        assert str(parsed) == uid
        assert parsed.version == 4
        assert parsed.variant == "specified in RFC 4122"
    assert {uid[19] for uid in uids} == set("89ab")
