import sys

import tasks
from pyspark.sql import SparkSession

import paralesn as pe
from paralesn.distributed import finish, is_plan, one_thread, plan


def merged(numbered):  # neighbours, in their order: the later one may have arrived first
    return tasks.merged(*[part for _, part in sorted(numbered, key=lambda pair: pair[0])])


context = SparkSession.builder.master(f"local[{sys.argv[1]}]").getOrCreate().sparkContext
context.addPyFile(tasks.__file__)
step = plan(pe.ReservoirRegressor(pe.ParalESN(units=64)), n_features=2)
while is_plan(step):
    shared, left = context.broadcast(step), tasks.BLOCKS
    numbers = context.parallelize(range(left), left)
    parts = numbers.map(lambda k, shared=shared: (k, tasks.learn(shared.value, k)))
    while left > 1:
        left = (left + 1) // 2
        parts = parts.map(lambda pair: (pair[0] // 2, pair)).groupByKey(left).mapValues(merged)
    with one_thread():
        step = finish(step, parts.values().first())
context.stop()
pe.save(step, "model.safetensors")
