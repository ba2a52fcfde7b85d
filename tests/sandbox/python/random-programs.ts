/**
 * Programs whose result depends on the order in which things happen to them: answers, pauses, time limits, queues, locks and
 * threads, with readings of the clock, random numbers and the order of sets among them. The same seed gives the same program.
 */
export function randomProgram(seed: number): string {
  const random = generator(seed);
  return random() < 0.5 ? asynchronous(random) : blocking(random);
}

type Random = () => number;

const SEEN = [
  "    log.append([who, what, value, round(time.monotonic(), 6), random.random()])",
  "    if len(log) % 7 == 0:",
  "        log.append([datetime.now().isoformat(), str(uuid.uuid4()), sorted(os.urandom(3)), list({str(value), who, what})])",
];

const HEAD = [
  "import asyncio, os, queue, random, threading, time, uuid",
  "from concurrent.futures import ThreadPoolExecutor, as_completed, wait",
  "from datetime import datetime",
  "from servers.desk import echo, add, fail",
  "log = []",
  "def seen(who, what, value):",
  ...SEEN,
];

function asynchronous(random: Random): string {
  const steps: ((who: string) => string[])[] = [
    () => [`value = await echo(n=${int(random, 100)})`],
    () => [`value = await asyncio.gather(*[add(a=i, b=1) for i in range(${1 + int(random, 5)})])`],
    () => [`await asyncio.sleep(${pause(random)})`, "value = 'slept'"],
    () => ["await asyncio.sleep(0)", "value = 'yielded'"],
    () => [
      "try:",
      `    value = await asyncio.wait_for(echo(n=1), ${pause(random)})`,
      "except TimeoutError:",
      "    value = 'late'",
    ],
    () => [
      "try:",
      `    async with asyncio.timeout(${pause(random)}):`,
      "        value = await echo(n=2)",
      "except TimeoutError:",
      "    value = 'out of time'",
    ],
    () => [
      "value = []",
      `for next_one in asyncio.as_completed([echo(n=i) for i in range(${1 + int(random, 5)})]):`,
      "    value.append((await next_one)['n'])",
    ],
    () => [
      `done, rest = await asyncio.wait([echo(n=i) for i in range(3)], return_when=asyncio.FIRST_COMPLETED)`,
      "value = [each.result()['n'] for each in done]",
      "await asyncio.gather(*rest)",
    ],
    (who) => [`await shelf.put('${who}')`, "value = shelf.qsize()"],
    () => ["value = await asyncio.wait_for(shelf.get(), 0.01) if shelf.qsize() else 'empty'"],
    () => [
      "async with lock:",
      `    await asyncio.sleep(${pause(random)})`,
      "    value = await add(a=1, b=2)",
    ],
    () => ["async with few:", "    value = await echo(n=3)"],
    () => ["try:", "    await fail(n=1)", "except ToolError as error:", "    value = error.message"],
    () => [`value = await asyncio.to_thread(work, ${int(random, 9)})`],
    () => [`value = await parallel([lambda: echo(n=1), lambda: add(a=1, b=1), lambda: 3], limit=2)`],
    () => [
      "turns = 0",
      "call = echo(n=4)",
      "while not call.done():",
      "    await asyncio.sleep(0)",
      "value = 'spun'",
    ],
  ];
  const workers = Array.from({ length: 2 + int(random, 4) }, (_, index) =>
    worker("async def", `w${index}`, steps, random),
  );
  const names = workers.map((_, index) => `w${index}()`).join(", ");
  return [
    ...HEAD,
    "lock, few, shelf = asyncio.Lock(), asyncio.Semaphore(2), asyncio.Queue()",
    "def work(n):",
    "    time.sleep(n / 2000)",
    "    seen('thread', 'worked', n)",
    "    return n",
    ...workers.flat(),
    int(random, 2) === 0
      ? `await asyncio.gather(${names})`
      : `async def main():\n    async with asyncio.TaskGroup() as group:\n        for each in [${names}]:\n            group.create_task(each)\nasyncio.run(main())`,
    "result = log",
  ].join("\n");
}

function blocking(random: Random): string {
  const steps: ((who: string) => string[])[] = [
    () => [`value = echo(n=${int(random, 100)})`],
    () => [`time.sleep(${pause(random)})`, "value = 'slept'"],
    () => ["time.sleep(0)", "value = 'yielded'"],
    () => ["with lock:", `    time.sleep(${pause(random)})`, "    value = add(a=1, b=2)"],
    () => [
      "value = 'busy'",
      `if lock.acquire(timeout=${pause(random)}):`,
      "    value = echo(n=1)",
      "    lock.release()",
    ],
    (who) => [`shelf.put('${who}')`, "value = shelf.qsize()"],
    () => [
      "try:",
      `    value = shelf.get(timeout=${pause(random)})`,
      "except queue.Empty:",
      "    value = 'empty'",
    ],
    () => ["with few:", "    value = echo(n=3)"],
    () => ["try:", "    fail(n=1)", "except ToolError as error:", "    value = error.message"],
    () => [
      `value = parallel([lambda i=i: add(a=i, b=1) for i in range(${1 + int(random, 5)})], limit=${1 + int(random, 3)})`,
    ],
    () => [
      "with ThreadPoolExecutor(3) as pool:",
      `    jobs = [pool.submit(echo, {'n': i}) for i in range(${1 + int(random, 4)})]`,
      "    value = [job.result()['n'] for job in as_completed(jobs)]",
    ],
    () => [`value = changed.wait(${pause(random)})`],
    () => ["changed.set() if random.random() < 0.5 else changed.clear()", "value = changed.is_set()"],
  ];
  const workers = Array.from({ length: 2 + int(random, 3) }, (_, index) =>
    worker("def", `w${index}`, steps, random),
  );
  const names = workers.map((_, index) => `w${index}`).join(", ");
  return [
    ...HEAD,
    "lock, few, shelf, changed = threading.Lock(), threading.Semaphore(2), queue.Queue(), threading.Event()",
    ...workers.flat(),
    int(random, 2) === 0
      ? `parallel([${names}])`
      : `threads = [threading.Thread(target=each) for each in [${names}]]\nfor each in threads:\n    each.start()\nfor each in threads:\n    each.join()`,
    "result = log",
  ].join("\n");
}

/** A function of a few steps, each of which sets `value`. */
function worker(
  keyword: string,
  name: string,
  steps: readonly ((who: string) => string[])[],
  random: Random,
): string[] {
  const lines = [`${keyword} ${name}():`];
  for (let step = 0; step < 3 + int(random, 6); step++) {
    const made = steps[int(random, steps.length)]?.(name) ?? [];
    lines.push(...made.map((line) => `    ${line}`), `    seen('${name}', ${step}, value)`);
  }
  return lines;
}

const pause = (random: Random) => (int(random, 12) / 1_000).toFixed(3);
const int = (random: Random, below: number) => Math.floor(random() * below);

/** Mulberry32. */
function generator(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
