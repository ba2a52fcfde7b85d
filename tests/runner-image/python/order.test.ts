import { expect, it } from "vitest";
import { missingFor, runInProcess } from "../runner-process.ts";

const missing = missingFor("python");

/** Takes memory first, so that what is made later lies elsewhere; the sizes are those of coroutines, tasks and futures. */
const PROGRAM = (taken: number) => `
import asyncio, threading, random
from concurrent.futures import ThreadPoolExecutor, wait, as_completed
junk = [bytearray(size) for size in range(100, 400, 8) for _ in range(random.Random(${taken}).randrange(${taken}, 60))]
del junk[::3]

async def started(i):
    begun.append(i)

begun = []
for each in asyncio.as_completed([started(i) for i in range(40)]):
    await each
done, _ = await asyncio.wait([asyncio.create_task(started(i), name=str(i)) for i in range(40)])
made, loop = {}, asyncio.get_running_loop()
for i in range(40):
    future = loop.create_future()
    future.set_result(i)
    made[future] = i
futures, _ = await asyncio.wait(made)
with ThreadPoolExecutor(4) as executor:
    jobs = {executor.submit(lambda: None): i for i in range(20)}
    finished = [jobs[job] for job in wait(jobs).done], [jobs[job] for job in as_completed(jobs)]
gathered = [asyncio.gather(loop.create_future()) for _ in range(20)]
threads = [threading.Thread(name=str(i)) for i in range(20)]
result = {
    "begun": begun[:40],
    "tasks": [int(task.get_name()) for task in done],
    "futures": [made[future] for future in futures],
    "finished": finished,
    "threads": [thread.name for thread in set(threads)],
    "gathered": [gathered.index(each) for each in set(gathered)],
    "shown": repr(asyncio.create_task(started(0), name="a")).partition(" coro")[0] + repr(future)[:8],
}
`;

it.skipIf(missing !== "")(
  `tasks, futures and threads have the same order in sets wherever they lie in memory${missing}`,
  async () => {
    const results = [];
    for (const taken of [0, 7, 23, 59]) results.push((await runInProcess("python", PROGRAM(taken))).claim);
    const [first] = results;
    expect(first).toMatchObject({ ok: true, data: { shown: "<Task pending name='a'<Future " } });
    expect(first).toMatchObject({ data: { begun: Array.from({ length: 40 }, (_, i) => i) } });
    for (const result of results) expect(result).toEqual(first);
  },
);

/** In each round a thread comes out of the system just as the other one begins to wait for it. */
const ROUNDS = 30;
const THREADS = `
import os, threading
def once(i):
    reader, writer = os.pipe()
    read = []
    thread = threading.Thread(target=lambda: read.append(os.read(reader, 9)))
    thread.start()
    os.write(writer, str(i).encode())
    thread.join()
    os.close(reader), os.close(writer)
    return int(read[0])
result = [once(i) for i in range(${ROUNDS})]
`;

it.skipIf(missing !== "")(
  `a thread that comes back from the system is not missed by one that begins to wait for it${missing}`,
  async () => {
    const { claim } = await runInProcess("python", THREADS);
    expect(claim).toMatchObject({ ok: true, data: Array.from({ length: ROUNDS }, (_, i) => i) });
  },
);
