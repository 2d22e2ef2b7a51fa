"""Tables for people: ours first, then baselines, then what was published."""

from polylm.evaluation import semeval2010, wsi
from polylm.evaluation.baselines import OneCluster
from polylm.evaluation.report import PUBLISHED, evaluation_table, published, score_table


def test_tables(semeval2010_folder):
    evaluation = wsi.evaluate(semeval2010.read(semeval2010_folder), OneCluster())
    table = evaluation_table(evaluation, "mine")
    assert table.columns == ("semeval2010", "F-S", "V-M", "AVG")
    names = [row[0] for row in table.rows]
    assert names[:5] == ["mine", "  nouns", "  verbs", "one cluster per lemma", "one cluster per instance"]
    assert ("PolyLM BASE", "65.8", "40.5", "51.6") in table.rows
    scores = score_table(evaluation.scores)
    assert scores.columns == ("", "F-S", "V-M", "AVG", "lemmas")
    assert [row[0] for row in scores.rows] == ["all", "nouns", "verbs"]
    assert [row[-1] for row in scores.rows] == ["2", "1", "1"]
    assert scores.to_markdown().splitlines()[1] == "| --- | ---: | ---: | ---: | ---: |"


def test_published_averages_are_geometric_means():
    """As far as rounded figures tell; so no row was mistyped."""
    for rows in PUBLISHED.values():
        for system, (first, second, average) in rows.items():
            assert abs((first * second) ** 0.5 - average) < 0.15, system
    assert published("semeval2013")["PolyLM BASE"] == {"fuzzy_bcubed": 0.648, "fuzzy_nmi": 0.23, "avg": 0.386}


def test_own_data_has_no_published_rows(own_file, tmp_path):
    """Whatever the file is called."""
    from polylm.evaluation import own

    path = own_file.rename(tmp_path / "semeval2010.jsonl")
    evaluation = wsi.evaluate(own.read(path), OneCluster())
    assert not any(row[0].startswith("PolyLM") for row in evaluation_table(evaluation, "mine").rows)
