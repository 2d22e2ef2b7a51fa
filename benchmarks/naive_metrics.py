"""The fuzzy measures of SemEval-2013 as the rules read, instance by instance: slow, and easy to check."""

import math


def naive_fuzzy_bcubed(gold, key):
    def scaled(side):
        return {i: {label: w / max(labels.values()) for label, w in labels.items()} for i, labels in side.items()}

    def agreement(labels, others):
        return sum(1 - abs(w - others[label]) for label, w in labels.items() if label in others)

    def part(first, second):
        total = 0.0
        for i, labels in first.items():
            shares = []
            for j, others in first.items():
                if i != j and labels.keys() & others.keys():
                    a = agreement(labels, others)
                    b = agreement(second.get(i, {}), second.get(j, {}))
                    shares.append(min(a, b) / a if a > 0 else 0.0)
            total += sum(shares) / len(shares) if shares else 0.0
        return total / len(gold)

    gold, key = scaled(gold), scaled(key)
    return part(gold, key), part(key, gold)


def naive_fuzzy_nmi(gold, key):
    instances = list({**gold, **key})
    n = len(instances)

    def classes(side):
        labels = dict.fromkeys(label for given in side.values() for label in given)
        return [
            [side.get(i, {}).get(label, 0.0) / max(side.get(i, {"": 1.0}).values()) for i in instances]
            for label in labels
        ]

    def bin_of(w):
        return next(k for k in range(1, 11) if w <= k / 10 or k == 10)

    def entropy(values):
        return sum(-(c := values.count(v) / n) * math.log2(c) for v in set(values))

    def h(x):
        return -x * math.log(x) if x > 1e-12 else 0.0

    def given(x, others):
        best = None
        for y in others:
            pairs = [(u > 0, v > 0) for u, v in zip(x, y, strict=True)]
            yes, no, a, b = (pairs.count(p) / n for p in [(True, True), (False, False), (True, False), (False, True)])
            if h(yes) + h(no) < h(a) + h(b) - 1e-15:
                continue
            bins = [bin_of(v) for v in y]
            value = entropy([(bin_of(u), v) for u, v in zip(x, bins, strict=True)]) - entropy(bins)
            best = value if best is None else min(best, value)
        return entropy([bin_of(u) for u in x]) if best is None else best

    a, b = classes(gold), classes(key)
    h_a, h_b = (sum(entropy([bin_of(u) for u in x]) for x in side) for side in (a, b))
    if not max(h_a, h_b) > 0:
        return 0.0
    return (h_a - sum(given(x, b) for x in a) + h_b - sum(given(y, a) for y in b)) / 2 / max(h_a, h_b)
