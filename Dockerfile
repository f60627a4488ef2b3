# The demonstration in a container:
#
#     docker build -t multihop .
#     docker run --rm -v "$PWD/out:/out" multihop
#
# and any other command: docker run --rm multihop multihop run chain-4

FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip python3-venv
WORKDIR /source
COPY . .
RUN python3 -m venv /venv && /venv/bin/pip wheel --no-deps --wheel-dir /wheels .

FROM python:3.13-slim-bookworm
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl
CMD ["python", "-m", "multihop.demo", "--out", "/out/demo.html"]
