"""How the filters of a bank are laid out in memory: numbers that kernels and features share."""

CHUNK = 64  # filters worked on at a time
RUN = 16  # neighbouring filters that hear the same channels and share a time constant
TAPS = 3  # neighbouring filters mixed into a response
KINDS = 2  # statistics of a response besides its shares above thresholds
PARTS = 4  # of a series, in each of which some responses' shares are counted
ROWS = 4 + 2 * TAPS  # rows of a chunk's parameters: eigenvalue, weight and taps, as complex pairs

SMOOTH = 1e-6  # spread of the changes of a normalised series below which its bends are not heard

VALUES, CHANGES, BENDS = 0, 1, 2  # what a chunk hears: the series or its differences of this order


def chunk_orders(chunks: int) -> list[int]:
    """What each chunk hears: most changes, three of sixteen the values, and as many the bends."""
    few = 3 * chunks // 16
    return [CHANGES] * (chunks - 2 * few) + [VALUES] * few + [BENDS] * few


def chunks_in_parts(chunks: int) -> int:
    """How many chunks, the first ones, also count in the parts of a series."""
    return chunks // 8
