import sys

import tasks
from pyspark.sql import SparkSession

import paralesn as pe
from paralesn.distributed import digest, finish, is_plan, one_thread, plan


def added(part, number):  # to what its partition has learnt so far
    with one_thread():
        return digest(shared.value, *tasks.block(number), first=tasks.SERIES * number, into=part)


context = SparkSession.builder.master(f"local[{sys.argv[1]}]").getOrCreate().sparkContext
context.addPyFile(tasks.__file__)
step = plan(pe.ReservoirRegressor(pe.ParalESN(units=64)), n_features=2)
while is_plan(step):
    shared = context.broadcast(step)
    numbers = context.parallelize(range(tasks.BLOCKS), 6)  # partitions, none of them empty
    part = numbers.treeAggregate(None, added, tasks.merged, depth=2)
    with one_thread():
        step = finish(step, part)
context.stop()
pe.save(step, "model.safetensors")
