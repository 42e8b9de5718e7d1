# A Spack recipe for ferry. Untested: Spack has not run it yet.
#
#     git archive --prefix=ferry-0.2.0/ -o ferry-0.2.0.tar.gz HEAD
#     spack repo add deploy/spack
#     spack install ferry
from spack.package import *


class Ferry(MesonPackage):
    """A dataflow-graph runtime in C++20 with automatic message passing."""

    url = "file://{0}/ferry-0.2.0.tar.gz".format(join_path(__file__, "..", "..", "..", "..", ".."))
    version("0.2.0")

    variant("openmpi", default=False, description="plug-in for Open MPI")
    variant("mpich", default=False, description="plug-in for MPICH, Intel MPI and MVAPICH")

    depends_on("cxx", type="build")
    depends_on("meson@0.61:", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("protobuf")
    depends_on("flatbuffers")
    depends_on("nlohmann-json", type="build")
    depends_on("cli11", type="build")
    depends_on("eigen", type="build")
    depends_on("openblas")
    depends_on("xxhash")
    depends_on("zstd")
    depends_on("zlib-api")
    depends_on("libjpeg-turbo")
    depends_on("libpng")
    depends_on("hwloc@2:")
    depends_on("openmpi@4:", when="+openmpi", type="build")
    depends_on("mpich@4:", when="+mpich", type="build")
    conflicts("%gcc@:11", msg="ferry needs GCC 12 or Clang 14")

    def meson_args(self):
        mpi = ["standard"] + [name for name in ("openmpi", "mpich") if self.spec.satisfies("+" + name)]
        return ["-Dtests=false", "-Dcuda=disabled", "-Dopenblas=enabled", "-Dmpi=" + ",".join(mpi)]
