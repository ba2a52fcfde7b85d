# The base of the released runner image: Node.js, Perl and Python, as Dockerfile.runner wants them. The distribution's own Python is the one that
# `ptc image build` takes where no registry is reached.
FROM node:24-bookworm-slim
RUN apt-get update && \
    apt-get install -y --no-install-recommends python3-minimal libpython3-stdlib python3 && \
    rm -rf /var/lib/apt/lists/* /usr/local/lib/node_modules /opt/yarn*
