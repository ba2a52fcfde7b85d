/** A process that has consoles open, as browsers have: it reads their feeds. It is told how many, and answers when that is so. */
const [origin = ""] = process.argv.slice(2);

interface Wanted {
  open: number;
  /** How many consoles one person has. */
  ofOne: number;
}

let closing = new AbortController();
let reading: Promise<void>[] = [];

process.on("message", ({ open, ofOne }: Wanted) => {
  void change(open, ofOne).then(
    () => process.send?.({}),
    (error: unknown) => process.send?.({ why: String(error) }),
  );
});

async function change(open: number, ofOne: number): Promise<void> {
  closing.abort();
  await Promise.all(reading);
  closing = new AbortController();
  reading = [];
  const cookies = await Promise.all(
    Array.from({ length: Math.ceil(open / ofOne) }, (_, i) => enter(`p${i}`)),
  );
  const feeds = Array.from({ length: open }, (_, i) => openFeed(cookies[Math.floor(i / ofOne)] ?? ""));
  reading = (await Promise.all(feeds)).map(readToEnd);
}

async function enter(name: string): Promise<string> {
  const headers = { "Sec-Fetch-Site": "none" };
  const opened = await fetch(`${origin}/console/open?as=${name}`, { headers, redirect: "manual" });
  return opened.headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0])
    .join("; ");
}

async function openFeed(cookie: string): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const headers = { Cookie: cookie, "Sec-Fetch-Site": "same-origin" };
  const { status, body } = await fetch(`${origin}/console/feed`, { headers, signal: closing.signal });
  const reader = body?.getReader();
  if (status !== 200 || reader === undefined) throw new Error(`a console was not opened: ${status}`);
  // It is open once it has said something.
  await reader.read();
  return reader;
}

async function readToEnd(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // It was closed.
  }
}
