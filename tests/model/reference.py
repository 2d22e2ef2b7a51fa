"""The paper's equations, written out one position and one sense at a time in float64, with none of the package's code.

Only the contextualizers are taken as they are: the equations say nothing about them.
"""

import torch


def own_rows(n_senses, word):
    first = sum(n_senses[:word])
    return list(range(first, first + n_senses[word]))


def softmax(scores):
    powers = [torch.exp(score - max(scores)) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def input_vector(E, lambda_logits, n_senses, word):  # Eq. 5
    rows = own_rows(n_senses, word)
    weights = softmax([lambda_logits[s] for s in rows])
    return sum(weight * E[s] for weight, s in zip(weights, rows, strict=True))


def own_distribution(E, b, n_senses, word, y):  # Eqs. 6, 7 and 10
    return softmax([E[s] @ y + b[s] for s in own_rows(n_senses, word)])


def reading(E, b, lambda_logits, n_senses, c_d, c_p, text):
    """q^D of every position of one text, and y^P."""
    x = torch.stack([input_vector(E, lambda_logits, n_senses, word) for word in text])
    q_d = None
    if c_d is not None:
        y_d = c_d(x[None])[0]
        q_d = [own_distribution(E, b, n_senses, word, y) for word, y in zip(text, y_d, strict=True)]
        x = torch.stack(
            [
                sum(q * E[s] for q, s in zip(q_i, own_rows(n_senses, word), strict=True))  # Eq. 8
                for q_i, word in zip(q_d, text, strict=True)
            ]
        )
    return q_d, c_p(x[None])[0]


def sense_distribution(E, b, excluded_rows, y):  # Eq. 9, over the senses that may be predicted
    rows = [s for s in range(len(E)) if s not in excluded_rows]
    probabilities = softmax([E[s] @ y + b[s] for s in rows])
    return dict(zip(rows, probabilities, strict=True))


def all_losses(E, b, lambda_logits, n_senses, excluded, c_d, c_p, masked, texts, targets, r, lambda_m, normalisation):
    """J_LM, J_D, J_M for texts c and c' (lists of lists), targets as (text, place)."""
    excluded_rows = {s for word in excluded for s in own_rows(n_senses, word)}
    from_masked = [reading(E, b, lambda_logits, n_senses, c_d, c_p, text) for text in masked]
    from_plain = [reading(E, b, lambda_logits, n_senses, c_d, c_p, text) for text in texts]
    lm, distinctness, match, n_poly = 0, 0, 0, 0
    for text, place in targets:
        word = texts[text][place]
        y = from_masked[text][1][place]
        p = sense_distribution(E, b, excluded_rows, y)
        lm = lm - torch.log(sum(p[s] for s in own_rows(n_senses, word)))
        if n_senses[word] == 1 and normalisation == "polysemous":
            continue
        n_poly += 1
        q_p = own_distribution(E, b, n_senses, word, y)
        distinctness = distinctness - torch.log(sum(q**r for q in q_p)) / r
        if c_d is not None:
            q_d, fixed = torch.stack(from_plain[text][0][place]), torch.stack(q_p).detach()
            match = match - lambda_m * (q_d @ fixed) / (q_d.norm() * fixed.norm())
    return lm / len(targets), distinctness / max(n_poly, 1), match / max(n_poly, 1)
