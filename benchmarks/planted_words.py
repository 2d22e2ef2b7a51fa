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
TOPIC_PAIRS = list(itertools.combinations(range(N_TOPICS), 2))  # 45 homonyms, nine in each topic
FIRST_HOMONYM = 2 + N_TOPICS * WORDS_PER_TOPIC
N_HOMONYMS = len(TOPIC_PAIRS)


def texts(n_texts, generator):
    """(n, LENGTH) words and (n,) topics; a quarter of the places hold a homonym of the topic."""
    topics = torch.randint(N_TOPICS, (n_texts,), generator=generator)
    own = torch.randint(WORDS_PER_TOPIC, (n_texts, LENGTH), generator=generator)
    words = 2 + topics[:, None] * WORDS_PER_TOPIC + own
    of_topic = torch.tensor([[i for i, pair in enumerate(TOPIC_PAIRS) if topic in pair] for topic in range(N_TOPICS)])
    chosen = of_topic[topics[:, None], torch.randint(of_topic.shape[1], (n_texts, LENGTH), generator=generator)]
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
        r = 1 + (r_final - 1) * min(max((share - 0.6) / 0.3, 0), 1)
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
    """Share of occurrences on the right side, each label of a form counted for the side that it mostly stands for."""
    n_labels = int(labels.max()) + 1
    table = torch.zeros(N_HOMONYMS * n_labels, 2)
    place = ((forms - FIRST_HOMONYM) * n_labels + labels, side)
    table.index_put_(place, torch.ones(len(forms)), accumulate=True)
    return (table.max(dim=1).values.sum() / len(forms)).item()
