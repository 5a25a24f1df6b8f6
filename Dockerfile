# The image of `tenure`: `docker build --tag tenure .`, then e.g. `docker run --rm tenure --help`.

FROM python:3.11-slim-bookworm AS build
WORKDIR /src
# The lock also holds what tests and lint need. uv takes from it what pyproject.toml asks for, and checks every hash.
COPY requirements.lock pyproject.toml ./
RUN sed -n '/^uv==/,/# via/p' requirements.lock > uv.lock \
 && pip install --no-cache-dir --no-deps --require-hashes --requirement uv.lock \
 && uv venv /opt/tenure \
 && uv pip install --no-cache --compile-bytecode --only-binary :all: --python /opt/tenure \
      --require-hashes --constraints requirements.lock --requirements pyproject.toml
# After the dependencies, which change less often.
COPY LICENSE ./
COPY ledger ledger
COPY streams streams
COPY enforcer enforcer
COPY tenure tenure
RUN uv build --wheel --out-dir dist --require-hashes --build-constraints requirements.lock \
 && uv pip install --no-cache --compile-bytecode --no-deps --python /opt/tenure dist/*.whl

FROM python:3.11-slim-bookworm
RUN useradd --uid 10001 --user-group --home-dir /var/lib/tenure --create-home --shell /usr/sbin/nologin tenure
COPY --from=build /opt/tenure /opt/tenure
ENV PATH=/opt/tenure/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    TENURE_DATA=/var/lib/tenure \
    MPLCONFIGDIR=/tmp/matplotlib
USER 10001:10001
WORKDIR /var/lib/tenure
ENTRYPOINT ["tenure"]
