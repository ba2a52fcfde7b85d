#!/bin/sh
# Hands what the user says to the ptc of this conversation, and prints nothing: what it would print is for the model.
command -v ptc > /dev/null 2>&1 || exit 0
exec ptc said > /dev/null 2>&1
