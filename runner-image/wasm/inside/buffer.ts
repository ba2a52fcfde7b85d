/** The `Buffer` of code inside an interpreter, before any of that code runs. */
export { Buffer } from "buffer";
