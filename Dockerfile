# The demonstration in a container:
#
#     docker build -t multihop .
#     docker run --rm -v "$PWD/out:/out" multihop
#
# and any other command: docker run --rm multihop multihop run chain-4
#
# BASE is an image of Debian with Python 3.11 or newer, or of a relative.

ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
ENV CARGO_HOME=/cargo RUSTUP_HOME=/rustup PATH=/cargo/bin:$PATH
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl gcc libc6-dev python3 python3-venv
RUN curl --fail --silent --show-error --output /rustup-init \
        https://static.rust-lang.org/rustup/dist/$(uname -m)-unknown-linux-gnu/rustup-init \
    && chmod +x /rustup-init && /rustup-init -y --profile minimal --default-toolchain none && rm /rustup-init
WORKDIR /source
COPY . .
RUN python3 -m venv /venv && /venv/bin/pip wheel --no-deps --wheel-dir /wheels .

FROM ${BASE}
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /wheels
RUN python3 -m venv /venv && /venv/bin/pip install --no-cache-dir /wheels/*.whl
ENV PATH=/venv/bin:$PATH
CMD ["python", "-m", "multihop.demo", "--out", "/out/demo.html"]
