# Mistakes that a type checker must find: each line below is one, or is marked not to be.
import numpy as np

import paralesn as pe

y = np.zeros(50)
fitted = pe.ReservoirForecaster(horizon=12).fit(y)
reservoir = pe.ParalESN(16)

pe.ParallelESN(units=16)  # mistake: no such name
pe.ParalESN(unit=16)  # mistake: no such parameter
pe.ParalESN(16, 2)  # mistake: keyword only
pe.ParalESN(units="many")  # mistake: not a number
pe.load("model.esn").forecast()  # mistake: it may hold anything
pe.load("model.esn", pe.Ridge).forecast()  # mistake for pyright: a readout does not forecast
fitted.forecast(interval="wide")  # mistake: not a number
fitted.forecast().columns  # mistake: an array has none  # noqa: B018
fitted.forecast(interval=0.9).uper  # mistake: spelling  # noqa: B018
reservoir.run(y)[0].columns  # mistake: an array has none  # noqa: B018
pe.backtest(fitted, y, origin=3)  # mistake: no such parameter
pe.tune(fitted, y, budget=None)  # mistake: a time or a number
pe.save(fitted)  # mistake: where to?
