# By its exact version. For an image that can't change under its name give the digest as well:
#     docker build --build-arg PYTHON_IMAGE=python:3.13.11-slim-trixie@sha256:...
ARG PYTHON_IMAGE=python:3.13.11-slim-trixie

FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
COPY requirements/ requirements/
# What runs gets no pip of its own; that of the other environment installs into it.
RUN python -m venv /wheel \
    && python -m venv --without-pip /opt/scaler \
    && /wheel/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt \
    && /wheel/bin/pip --python /opt/scaler/bin/python install --no-cache-dir --only-binary=:all: \
        --require-hashes -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY scaler/ scaler/
RUN /wheel/bin/pip wheel --no-cache-dir --no-index --no-deps --no-build-isolation \
        --wheel-dir /dist . \
    && /wheel/bin/pip --python /opt/scaler/bin/python install --no-cache-dir --no-index --no-deps \
        /dist/*.whl \
    && /wheel/bin/pip --python /opt/scaler/bin/python check

FROM ${PYTHON_IMAGE}
ARG PYTHON_IMAGE
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="kueue-gpu-scaler" \
      org.opencontainers.image.description="An external KEDA scaler for GPU clusters under Kueue" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="docker.io/library/${PYTHON_IMAGE}"
COPY --from=build /opt/scaler /opt/scaler
ENV PATH=/opt/scaler/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
# A number, so that runAsNonRoot can be judged. Any user will do: nothing is written, and OpenShift
# picks one of its own.
USER 65532:65532
EXPOSE 6000 8080
# For engines that heed it; Kubernetes has its own probes.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["python", "-c", \
    "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["kueue-gpu-scaler"]
CMD ["serve"]
