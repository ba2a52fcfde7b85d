/** What programs in JavaScript find around them: all of Node.js, or what an interpreter without it has. */

/** `wasm`: an interpreter that is compiled to WebAssembly. Its platform is a part of what Node.js has. */
export type Platform = "node" | "wasm";

/** The modules of Node.js that programs can import on the platform `wasm`, without `node:`. */
export const WASM_MODULES = [
  "buffer",
  "console",
  "crypto",
  "path",
  "path/posix",
  "process",
  "timers",
  "timers/promises",
  "url",
  "util",
  "util/types",
] as const;

/** Globals of Node.js that are not on the platform `wasm`. */
export const WASM_ABSENT_GLOBALS: readonly string[] = `
Intl Atomics
AbortController AbortSignal Blob BroadcastChannel ByteLengthQueuingStrategy CloseEvent CompressionStream
CountQueuingStrategy Crypto CryptoKey CustomEvent DecompressionStream Event EventSource EventTarget File FormData Headers
MessageChannel MessageEvent MessagePort Navigator Performance PerformanceEntry PerformanceMark PerformanceMeasure
PerformanceObserver PerformanceObserverEntryList PerformanceResourceTiming QuotaExceededError
ReadableByteStreamController ReadableStream ReadableStreamBYOBReader ReadableStreamBYOBRequest
ReadableStreamDefaultController ReadableStreamDefaultReader Request Response Storage SubtleCrypto TextDecoderStream
TextEncoderStream TransformStream TransformStreamDefaultController URLPattern WebAssembly WebSocket WritableStream
WritableStreamDefaultController WritableStreamDefaultWriter fetch gc localStorage navigator sessionStorage`
  .trim()
  .split(/\s+/);
