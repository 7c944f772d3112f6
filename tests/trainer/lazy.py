from collections.abc import Sequence


class Lazy(Sequence):
    """Rows that are made when asked for; counts how many were."""

    def __init__(self, make, count=100_000):
        self.make, self.count, self.n_made = make, count, 0

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.n_made += 1
        return self.make(index)
