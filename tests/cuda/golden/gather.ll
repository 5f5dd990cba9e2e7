; shared 0
; ModuleID = "kernel"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7")
{
entry:
  %".9" = inttoptr i64 %".2" to float addrspace(1)*
  %".10" = inttoptr i64 %".3" to i64 addrspace(1)*
  %".11" = inttoptr i64 %".4" to float addrspace(1)*
  br label %"body"
body:
  %".12" = call i64 @"thread"()
  %".13" = call i64 @"threads"()
  %".14" = mul i64 %".1", %".13"
  %".15" = add i64 %".14", %".12"
  %".16" = mul nsw i64 %".5", %".6"
  %".17" = icmp slt i64 %".15", %".16"
  br i1 %".17", label %"body.if", label %"body.endif"
body.if:
  %".19" = urem i64 %".15", %".5"
  %".20" = udiv i64 %".15", %".5"
  %".21" = getelementptr i64, i64 addrspace(1)* %".10", i64 %".20"
  %".22" = load i64, i64 addrspace(1)* %".21", !alias.scope !6, !noalias !7
  %".23" = mul i64 %".22", %".5"
  %".24" = add i64 %".19", %".23"
  %".25" = getelementptr float, float addrspace(1)* %".9", i64 %".24"
  %".26" = load float, float addrspace(1)* %".25", !alias.scope !4, !noalias !5
  %".27" = call float @"llvm.fabs.f32"(float %".26")
  %".28" = fcmp ogt float %".27", 0x4024000000000000
  %".29" = select  i1 %".28", float 0x4024000000000000, float %".27"
  %".30" = fmul float %".29", 0xc000000000000000
  %".31" = call float @"llvm.fma.f32"(float %".30", float 0x3ff7154760000000, float 0x4168000fe0000000)
  %".32" = fsub float %".31", 0x4168000fe0000000
  %".33" = call float @"llvm.fma.f32"(float %".32", float 0xbfe62e4300000000, float %".30")
  %".34" = call float @"llvm.fma.f32"(float 0x3f56baf4c0000000, float %".33", float 0x3f81230c40000000)
  %".35" = call float @"llvm.fma.f32"(float %".34", float %".33", float 0x3fa5556ec0000000)
  %".36" = call float @"llvm.fma.f32"(float %".35", float %".33", float 0x3fc5554a60000000)
  %".37" = call float @"llvm.fma.f32"(float %".36", float %".33", float 0x3fdfffffe0000000)
  %".38" = fmul float %".33", %".33"
  %".39" = call float @"llvm.fma.f32"(float %".37", float %".38", float %".33")
  %".40" = bitcast float %".31" to i32
  %".41" = shl i32 %".40", 23
  %".42" = bitcast i32 %".41" to float
  %".43" = fneg float %".42"
  %".44" = fsub float 0x3ff0000000000000, %".42"
  %".45" = call float @"llvm.fma.f32"(float %".39", float %".43", float %".44")
  %".46" = fadd float 0x3ff0000000000000, %".42"
  %".47" = call float @"llvm.fma.f32"(float %".39", float %".42", float %".46")
  %".48" = fdiv float %".45", %".47"
  %".49" = call float @"llvm.copysign.f32"(float %".48", float %".26")
  %".50" = mul nsw i64 %".5", %".20"
  %".51" = add nsw i64 %".19", %".50"
  %".52" = getelementptr float, float addrspace(1)* %".11", i64 %".51"
  store float %".49", float addrspace(1)* %".52", !alias.scope !8, !noalias !9
  br label %"body.endif"
body.endif:
  ret void
}

@"shared" = external addrspace(3) global [0 x i8]
declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

declare void @"warp_barrier"()

declare i32 @"shuffle"(i32 %".1", i32 %".2")

define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6")
{
entry:
  %".8" = call i64 @"threads"()
  %".9" = mul nsw i64 %".4", %".5"
  %".10" = sub i64 %".8", 1
  %".11" = add i64 %".9", %".10"
  %".12" = udiv i64 %".11", %".8"
  ret i64 %".12"
}

declare float @"llvm.fabs.f32"(float %".1")

declare float @"llvm.fma.f32"(float %".1", float %".2", float %".3")

declare float @"llvm.copysign.f32"(float %".1", float %".2")

!0 = !{ !"mindlite" }
!1 = !{ !"argument 0", !0 }
!2 = !{ !"argument 1", !0 }
!3 = !{ !"argument 2", !0 }
!4 = !{ !1 }
!5 = !{ !2, !3 }
!6 = !{ !2 }
!7 = !{ !1, !3 }
!8 = !{ !3 }
!9 = !{ !1, !2 }