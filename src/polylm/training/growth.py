"""More senses for words of a finished model, in closed form: nothing is trained.

A word that has one sense has one vector e_w. Its contexts y^P, read where it is masked, are clustered, and each cluster
becomes a sense by the formulas of the split (split.py). x(w) stays what it was, the network does not change, and other
words keep their senses, numbers and vectors. Contexts also say which words are used in several ways (choice.py).
"""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from polylm.bundle.bundle import Bundle
from polylm.corpus.shards import PreparedCorpus
from polylm.errors import UserError
from polylm.model.head import log_partition
from polylm.model.int8 import quantizable
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM
from polylm.senses.merge_tree import MergeTree
from polylm.senses.substitutes import nearest_in_gaps
from polylm.senses.wordlists import N_SUBSTITUTES, WordLists
from polylm.symbols import MASK_ID
from polylm.text.lemmatizer import is_word
from polylm.text.vocabulary import Vocabulary
from polylm.training.choice import candidates, count, second_part_of_speech, ways_of_use
from polylm.training.contexts import Contexts, collect, windows_with
from polylm.training.split import Clusters, cluster, place_senses

logger = logging.getLogger("polylm.training")


@dataclass(frozen=True)
class Growth:
    """How words get senses."""

    least: int = 200  # occurrences
    share: float = 0.32  # of the words that occur so often and have one sense
    senses: int = 4
    n_contexts: int = 48  # of a word
    window: int = 96  # ids
    lead: float = 6.0  # nats by which the best sense leads the average one


def grow(bundle: Bundle, corpus: PreparedCorpus, how: Growth = Growth()) -> Bundle:  # noqa: B008  (it cannot be changed)
    """The model with senses for words that had one. The corpus must have its words."""
    if corpus.vocabulary().words != bundle.vocabulary.words:
        raise UserError(
            f"{corpus.folder} was prepared with other words than the model's: use {{vocabulary}}", vocabulary=None
        )
    if bundle.merge_tree is None:
        raise UserError("this model was saved without the confusions of its senses: it cannot be given more")
    network = bundle.network
    ids = np.concatenate([np.asarray(shard) for shard in corpus.shards])
    occurrences = torch.from_numpy(count(ids, len(bundle.vocabulary)))
    words = _candidates(bundle, occurrences, how.least)
    if not len(words):
        raise UserError(f"no word has one sense and {how.least} occurrences: there is nothing to give senses to")
    texts = windows_with(ids, words.numpy(), how.n_contexts, min(how.window, network.config.max_length))
    contexts = collect(network, _reported(texts, len(words)), words, how.n_contexts, MASK_ID)
    contexts = contexts.select(contexts.counts >= min(how.n_contexts, 4 * how.senses))
    second = torch.from_numpy(second_part_of_speech(ids, bundle.vocabulary))
    ways = ways_of_use(contexts, occurrences[contexts.words], second[contexts.words])
    chosen = ways.argsort(descending=True)[: round(how.share * len(ways))].sort().values
    return _with_senses(bundle, contexts.select(chosen), contexts.vectors[:, 0], how)


def _candidates(bundle: Bundle, occurrences: Tensor, least: int) -> Tensor:
    """Words of letters that have one sense and never had more."""
    inventory = bundle.network.inventory
    usable = candidates(bundle.vocabulary.words, occurrences, least)
    usable &= (inventory.n_senses == 1) & inventory.predicted[inventory.first]
    usable[bundle.network.offset_words] = False  # the others were pruned
    return usable.nonzero().flatten()


def _reported(texts: Iterator[Tensor], n_words: int) -> Iterator[Tensor]:
    said, done = time.monotonic(), 0
    for text in texts:
        yield text
        done += text.numel()
        if time.monotonic() - said > 10:
            said = time.monotonic()
            logger.info(f"contexts of {n_words:,} words: {done:,} ids read", extra={"progress": True})


@torch.no_grad()
def _with_senses(bundle: Bundle, contexts: Contexts, anywhere: Tensor, how: Growth) -> Bundle:
    words, vectors, counts = contexts
    n_senses = torch.full_like(words, how.senses)
    clusters = cluster(vectors, counts, n_senses, lead=how.lead, seed=0).in_order().centred()
    model, source = grown(bundle.network, words, n_senses, clusters)
    keep_frequencies(model, bundle.network, words, anywhere)
    products, shares = _confusion(model, contexts)
    assert bundle.merge_tree is not None
    tree = grown_tree(bundle.merge_tree, model, words, products, shares)
    lists = _word_lists(bundle, model, words, clusters, source)
    facts = {**(bundle.training or {}), "grown": {**vars(how), "words": len(words)}}
    known = bundle.vocabulary
    vocabulary = Vocabulary(known.words, known.counts, model.inventory.n_senses.tolist())
    return replace(
        bundle, network=model, vocabulary=vocabulary, merge_tree=tree, wordlists=lists, training=facts, folder=None
    )


@torch.no_grad()
def grown(network: PolyLM, words: Tensor, n_senses: Tensor, clusters: Clusters) -> tuple[PolyLM, Tensor]:
    """The network with so many senses (P,) of words (P,) that had one; and of each sense the row (S,) it comes from."""
    old = network.inventory
    if bool((old.n_senses[words] != 1).any()):
        raise ValueError("a word that is to have senses has several already")
    counts = old.n_senses.clone()
    counts[words] = n_senses.to(counts)
    is_grown = torch.zeros_like(counts, dtype=torch.bool)
    is_grown[words] = True
    first = torch.cumsum(counts, 0) - counts
    word = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
    place = torch.arange(len(word), device=word.device) - first[word]
    source = old.first[word] + place * ~is_grown[word]  # (S,)
    numbers = torch.where(is_grown[word], place + 1, old.numbers[source])
    inventory = SenseInventory(counts.cpu(), excluded=old.excluded, numbers=numbers.cpu())
    model = PolyLM(network.config, inventory, n_offsets=len(network.offset_words))
    model = model.to(network.embeddings.device, network.embeddings.dtype)
    by_sense = ("embeddings", "bias", "lambda_logits", "share_d", "share_p")
    state = {name: tensor[source] if name in by_sense else tensor for name, tensor in network.state_dict().items()}
    model.load_state_dict(state)
    encoders = quantizable(network)
    for name, encoder in quantizable(model).items():
        encoder.ranges = encoders[name].ranges
    place_senses(model, words, clusters, reach=float(network.embeddings.norm(dim=1).mean()))
    return model.train(network.training), source


@torch.no_grad()
def keep_frequencies(model: PolyLM, network: PolyLM, words: Tensor, anywhere: Tensor) -> None:
    """Make words that were given senses as likely as before in contexts (n, d) of whatever words, on the whole.

    Far from a word's own contexts its senses, which are longer vectors, would be too likely. All of its biases change
    by one number, so its senses stay what they are among themselves.
    """
    log_z = log_partition(anywhere, network.embeddings, network.output_bias())
    for some in torch.split(words, 256):
        rows, living = model.inventory.rows(some)  # (P, k)
        old = network.inventory.first[some]
        before = anywhere @ network.embeddings[old].T + network.bias[old] - log_z.unsqueeze(1)  # (n, P)
        scores = torch.einsum("nd,pkd->npk", anywhere, model.embeddings[rows]) + model.bias[rows]
        after = scores.masked_fill(~living, -torch.inf).logsumexp(dim=-1) - log_z.unsqueeze(1)
        shift = after.logsumexp(dim=0) - before.logsumexp(dim=0)  # (P,)
        model.bias[rows[living]] -= shift.unsqueeze(1).expand_as(rows)[living]


def _confusion(model: PolyLM, contexts: Contexts) -> tuple[Tensor, Tensor]:
    """G (P, k, k) and n (P, k) of words by what q^P says of their contexts."""
    products, shares = [], []
    for words, vectors, counts in zip(*(torch.split(part, 1024) for part in contexts), strict=True):
        own = words.unsqueeze(1).expand(vectors.shape[:2])
        met = torch.arange(vectors.shape[1], device=counts.device) < counts.unsqueeze(1)
        q = model.own_log_probs(own, vectors).exp() * (met / counts.unsqueeze(1)).sqrt().unsqueeze(-1)
        products.append(torch.einsum("pna,pnb->pab", q, q))
        shares.append((q * (met / counts.unsqueeze(1)).sqrt().unsqueeze(-1)).sum(dim=1))
    return torch.cat(products), torch.cat(shares)


def grown_tree(tree: MergeTree, model: PolyLM, words: Tensor, products: Tensor, shares: Tensor) -> MergeTree:
    """The merge tree of a network that was grown: with G (P, k, k) and n (P, k) of the words that have senses now."""
    inventory, k = model.inventory, model.inventory.max_senses
    n = len(inventory.poly_words)
    of_word = torch.full((inventory.n_words,), -1, dtype=torch.int64)
    of_word[inventory.poly_words.cpu()] = torch.arange(n)
    all_products, all_shares = torch.zeros(n, k, k), torch.zeros(n, k)
    for own, own_products, own_shares in (
        (tree.inventory.poly_words, tree.products, tree.shares),
        (words.cpu(), products.float().cpu(), shares.float().cpu()),
    ):
        at, width = of_word[own], own_shares.shape[1]
        all_products[at, :width, :width] = own_products
        all_shares[at, :width] = own_shares
    return MergeTree(inventory, all_products, all_shares)


def _word_lists(bundle: Bundle, model: PolyLM, words: Tensor, clusters: Clusters, source: Tensor) -> WordLists:
    """The substitutes that there were, and those of the new senses; labels are made again when they are asked for."""
    if bundle.wordlists.substitutes is None:
        return WordLists()
    rows, living = model.inventory.rows(words)
    k = clusters.centres.shape[1]
    rows, living = rows[:, :k][living[:, :k]], living[:, :k]
    gaps = torch.zeros_like(model.embeddings.detach())
    gaps[rows] = (clusters.means.unsqueeze(1) + clusters.centres)[living]
    counts = torch.zeros(len(gaps), device=gaps.device)
    counts[rows] = 1
    possible = torch.tensor([is_word(word) and word[0].isalnum() for word in bundle.vocabulary.words])
    found = nearest_in_gaps(model, gaps, counts, possible, N_SUBSTITUTES, torch.tensor(bundle.vocabulary.counts))
    table = bundle.wordlists.substitutes[source.cpu().numpy()].astype(np.int64)
    table[rows.cpu().numpy()] = found[rows].cpu().numpy()
    return WordLists(substitutes=table)
