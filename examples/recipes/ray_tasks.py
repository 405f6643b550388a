import sys

import ray
import tasks

import paralesn as pe
from paralesn.distributed import finish, is_plan, one_thread, plan

ray.init(num_cpus=int(sys.argv[1]), include_dashboard=False, logging_level="error")
learn, merged = ray.remote(tasks.learn), ray.remote(tasks.merged)
step = plan(pe.ReservoirRegressor(pe.ParalESN(units=64)), n_features=2)
while is_plan(step):
    shared = ray.put(step)  # once, not with every task
    parts = [learn.remote(shared, number) for number in range(tasks.BLOCKS)]
    while len(parts) > 1:
        parts = [merged.remote(*parts[k : k + 2]) for k in range(0, len(parts), 2)]
    with one_thread():
        step = finish(step, ray.get(parts[0]))
ray.shutdown()
pe.save(step, "model.safetensors")
