"""How the filters of a bank are laid out in memory: numbers that kernels and features share."""

CHUNK = 64  # filters worked on at a time
RUN = 16  # neighbouring filters that hear the same channels and share a time constant
TAPS = 3  # neighbouring filters mixed into a response
KINDS = 3  # statistics of a response besides its shares above thresholds
ROWS = 4 + 2 * TAPS  # rows of a chunk's parameters: eigenvalue, weight and taps, as complex pairs
