"""Text with planted homonyms, a short training loop, and a score: does a model tell two meanings of one form apart?

Topics have words of their own. A homonym is one made-up form that stands for a word of each of two topics, so only the
company it keeps tells which is meant.
"""

import itertools

import torch

from polylm.model.config import ModelConfig
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM

PAD, MASK = 0, 1
N_TOPICS, WORDS_PER_TOPIC, LENGTH = 10, 12, 10
TOPIC_PAIRS = list(itertools.combinations(range(N_TOPICS), 2))[:44]
FIRST_HOMONYM = 2 + N_TOPICS * WORDS_PER_TOPIC
N_HOMONYMS = len(TOPIC_PAIRS)


def texts(n_texts, generator):
    """(n, LENGTH) words and (n,) topics; a quarter of the places hold a homonym of the topic."""
    topics = torch.randint(N_TOPICS, (n_texts,), generator=generator)
    own = torch.randint(WORDS_PER_TOPIC, (n_texts, LENGTH), generator=generator)
    words = 2 + topics[:, None] * WORDS_PER_TOPIC + own
    of_topic = [[i for i, pair in enumerate(TOPIC_PAIRS) if topic in pair] for topic in range(N_TOPICS)]
    fewest = min(map(len, of_topic))
    table = torch.tensor([forms[:fewest] for forms in of_topic])
    chosen = table[topics[:, None], torch.randint(fewest, (n_texts, LENGTH), generator=generator)]
    homonym = torch.rand(n_texts, LENGTH, generator=generator) < 0.25
    return torch.where(homonym, FIRST_HOMONYM + chosen, words), topics


def make_model(contextualizer, k, seed, **changes):
    torch.manual_seed(seed)
    n_senses = [1] * FIRST_HOMONYM + [k] * N_HOMONYMS
    config = ModelConfig(
        **{"d_model": 32, "d_filter": 64, "n_heads": 2, "n_layers_d": 1, "n_layers_p": 1, "max_length": LENGTH,
           "contextualizer": contextualizer, **changes}
    )  # fmt: skip
    return PolyLM(config, SenseInventory(n_senses, excluded=[PAD, MASK]))


def train(model, steps, seed, n_texts=256, n_targets=2, lr=1e-2, r_final=1.5, lambda_m=0.1):
    """The paper's recipe in small: r waits, then rises."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.98), weight_decay=0.0)
    model.train()
    for step in range(steps):
        words, _ = texts(n_texts, generator)
        share = step / steps
        for group in optimizer.param_groups:
            group["lr"] = lr * min(1, (step + 1) / 20) * (1 - share)
        places = torch.rand(n_texts, LENGTH, generator=generator).topk(n_targets, dim=1).indices
        targets = (places + torch.arange(n_texts)[:, None] * LENGTH).flatten()
        masked = words.flatten().clone()
        fate = torch.rand(len(targets), generator=generator)
        masked[targets[fate < 0.8]] = MASK
        random = torch.randint(2, model.inventory.n_words, (len(targets),), generator=generator)
        masked[targets[fate >= 0.9]] = random[fate >= 0.9]
        r = 1 + (r_final - 1) * min(max((share - 0.3) / 0.4, 0), 1)
        loss = model(masked.view_as(words), words, targets, r=torch.tensor(r), lambda_m=lambda_m * min(1, 5 * share))
        optimizer.zero_grad()
        loss.total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval()


@torch.no_grad()
def occurrences(model, seed=99, n_texts=4000):
    """Homonyms, their q^P with the form masked, and which of the two topics (0 or 1) it was."""
    words, topics = texts(n_texts, torch.Generator().manual_seed(seed))
    place = torch.randint(LENGTH, (n_texts,), generator=torch.Generator().manual_seed(seed))
    here = torch.arange(n_texts)
    target = words[here, place]
    masked = words.clone()
    masked[here, place] = MASK
    y_p = model.read(masked).y_p[here, place]
    q = model._own_scores(target, y_p)[0].softmax(-1)
    pairs = torch.tensor(TOPIC_PAIRS)
    is_homonym = target >= FIRST_HOMONYM
    forms = target[is_homonym]
    side = (pairs[forms - FIRST_HOMONYM, 1] == topics[is_homonym]).long()
    return forms, q[is_homonym], side


def separation(forms, labels, side):
    """Share of occurrences on the right side, each label of a form counted for the side it mostly stands for."""
    right = 0
    for form in forms.unique().tolist():
        mine = forms == form
        table = torch.zeros(int(labels.max()) + 1, 2)
        table.index_put_((labels[mine], side[mine]), torch.ones(int(mine.sum())), accumulate=True)
        if (table.argmax(1)[table.sum(1) > 0]).unique().numel() < 2:
            right += table.sum(0).max().item() if False else table.max(1).values.sum().item()
        else:
            right += table.max(1).values.sum().item()
    return right / len(forms)
