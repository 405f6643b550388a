import sys
from concurrent.futures import ProcessPoolExecutor

from tasks import BLOCKS, learn, merged

import paralesn as pe
from paralesn.distributed import finish, is_plan, one_thread, plan

if __name__ == "__main__":
    step = plan(pe.ReservoirRegressor(pe.ParalESN(units=64)), n_features=2)
    with ProcessPoolExecutor(int(sys.argv[1])) as pool:
        while is_plan(step):
            parts = list(pool.map(learn, [step] * BLOCKS, range(BLOCKS)))
            while len(parts) > 1:
                pairs = [parts[k : k + 2] for k in range(0, len(parts), 2)]
                tasks = [pool.submit(merged, *pair) for pair in pairs]
                parts = [task.result() for task in tasks]
            with one_thread():
                step = finish(step, parts[0])
    pe.save(step, "model.safetensors")
