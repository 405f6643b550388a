"""Right-hand sides of chaotic systems, u' = f(u), with their published parameters.

Each function writes the derivative at u (N,) into du (N,). Powers are products and transcendental
functions are our own, so that a seed gives the same series on every machine. `chaotic_systems.py`
says where each system comes from.
"""

# ruff: noqa: D103 - the equations of a system are their own description
# mypy: allow-untyped-defs

from paralesn.datasets.generated.elementary import hyperbolic_sine, sine


def blasius(u, du):
    resource, herbivore, predator = u[0], u[1], u[2]
    grazed = 0.2 * resource * herbivore / (1.0 + 0.05 * resource)
    du[0] = resource - grazed
    du[1] = grazed - herbivore - herbivore * predator
    du[2] = herbivore * predator - 10.0 * (predator - 0.006)


def burke_shaw(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = -10.0 * (x + y)
    du[1] = -y - 10.0 * x * z
    du[2] = 10.0 * x * y + 4.272


def chen(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = 35.0 * (y - x)
    du[1] = (28.0 - 35.0) * x - x * z + 28.0 * y
    du[2] = x * y - 3.0 * z


def chua(u, du):
    x, y, z = u[0], u[1], u[2]
    diode = -5.0 / 7.0 * x - 3.0 / 14.0 * (abs(x + 1.0) - abs(x - 1.0))
    du[0] = 9.0 * (y - x - diode)
    du[1] = x - y + z
    du[2] = -100.0 / 7.0 * y


def dadras(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = y - 3.0 * x + 2.7 * y * z
    du[1] = 1.7 * y - x * z + z
    du[2] = 2.0 * x * y - 9.0 * z


def double_scroll(u, du):
    first, second, current = u[0], u[1], u[2]
    across = first - second
    diodes = across / 3.44 + 2.0 * 2.25e-5 * hyperbolic_sine(11.6 * across)
    du[0] = first / 1.2 - diodes
    du[1] = diodes - current
    du[2] = second - 0.193 * current


def finance(u, du):
    interest, investment, price = u[0], u[1], u[2]
    du[0] = price + (investment - 0.9) * interest
    du[1] = 1.0 - 0.2 * investment - interest * interest
    du[2] = -interest - 1.2 * price


def genesio_tesi(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = y
    du[1] = z
    du[2] = x * x - x - 1.1 * y - 0.44 * z


def halvorsen(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = -1.27 * x - 4.0 * y - 4.0 * z - y * y
    du[1] = -1.27 * y - 4.0 * z - 4.0 * x - z * z
    du[2] = -1.27 * z - 4.0 * x - 4.0 * y - x * x


def hastings_powell(u, du):
    x, y, z = u[0], u[1], u[2]
    first = 5.0 * x * y / (1.0 + 3.0 * x)
    second = 0.1 * y * z / (1.0 + 2.0 * y)
    du[0] = x * (1.0 - x) - first
    du[1] = first - second - 0.4 * y
    du[2] = second - 0.01 * z


def hindmarsh_rose(u, du):
    voltage, spiking, bursting = u[0], u[1], u[2]
    square = voltage * voltage
    du[0] = spiking - voltage * square + 3.0 * square - bursting + 3.25
    du[1] = 1.0 - 5.0 * square - spiking
    du[2] = 0.006 * (4.0 * (voltage + 1.6) - bursting)


def hyper_rossler(u, du):
    x, y, z, w = u[0], u[1], u[2], u[3]
    du[0] = -y - z
    du[1] = x + 0.25 * y + w
    du[2] = 3.0 + x * z
    du[3] = 0.05 * w - 0.5 * z


def liu(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = 10.0 * (y - x)
    du[1] = 40.0 * x - x * z
    du[2] = 4.0 * x * x - 2.5 * z


def lorenz63(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = 10.0 * (y - x)
    du[1] = x * (28.0 - z) - y
    du[2] = x * y - 8.0 / 3.0 * z


def lorenz84(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = 0.25 * (8.0 - x) - y * y - z * z
    du[1] = x * y - 4.0 * x * z - y + 1.0
    du[2] = 4.0 * x * y + x * z - z


def lorenz_stenflo(u, du):
    x, y, z, w = u[0], u[1], u[2], u[3]
    du[0] = 2.0 * (y - x) + 1.5 * w
    du[1] = x * (26.0 - z) - y
    du[2] = x * y - 0.7 * z
    du[3] = -x - 2.0 * w


def lu(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = 36.0 * (y - x)
    du[1] = 20.0 * y - x * z
    du[2] = x * y - 3.0 * z


def rikitake(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = y * z - x
    du[1] = x * (z - 1.0) - y
    du[2] = 1.0 - x * y


def rossler(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = -y - z
    du[1] = x + 0.2 * y
    du[2] = 0.2 + z * (x - 5.7)


def rucklidge(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = 6.7 * y - 2.0 * x - y * z
    du[1] = x
    du[2] = y * y - z


def shimizu_morioka(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = y
    du[1] = x * (1.0 - z) - 0.75 * y
    du[2] = x * x - 0.45 * z


def sprott_b(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = y * z
    du[1] = x - y
    du[2] = 1.0 - x * y


def sprott_s(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = -x - 4.0 * y
    du[1] = x + z * z
    du[2] = 1.0 + x


def thomas(u, du):
    x, y, z = u[0], u[1], u[2]
    du[0] = sine(y) - 0.18 * x
    du[1] = sine(z) - 0.18 * y
    du[2] = sine(x) - 0.18 * z


def vallis(u, du):
    current, temperature, contrast = u[0], u[1], u[2]
    du[0] = 102.0 * temperature - 3.0 * current
    du[1] = current * contrast - temperature
    du[2] = 1.0 - contrast - current * temperature
